package sandbox

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"judged/internal/sandbox/initproc"
	"judged/internal/sandbox/runtimes"
)

// Whether a program can be executed is the kernel's to say, with two exceptions: it
// starts an ELF file that was cut off, which then fails on a page that is not there;
// and its ENOENT does not tell whose the missing file is.

// ownProgram is the file of the run that is to be executed; nil is a program of the
// host.
func ownProgram(args []string, files []File) *File {
	name := inBox(args[0])
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &files[i]
}

// refused reports a program that must not be executed although the kernel would try;
// ok is one that may be.
func refused(program *File) (r Result, ok bool) {
	switch {
	case program == nil:
		return Result{}, true
	case !runtimes.IsWhole(program.Path):
		return Result{ExecError: syscall.ELIBBAD}, false
	}
	// env would look for the interpreter, and end with status 127.
	if wanted := runtimes.Wanted(program.Path); wanted != "" && !strings.Contains(wanted, "/") && !hostHas(wanted) {
		return Result{ExecError: syscall.ENOENT, Lacks: wanted}, false
	}
	return Result{}, true
}

// lacks names what should have been there when a program cannot be executed, by the
// operator's or the platform's doing; "" is the program's own fault. A command that
// is no file of the run is the platform's. An interpreter or loader that the program
// names is the host's to have if it is one that hosts have; anybody can name others.
func lacks(errno syscall.Errno, args []string, program *File) string {
	if program == nil {
		return args[0]
	}
	if wanted := runtimes.Wanted(program.Path); errno == syscall.ENOENT && wanted != "" && !hostHas(wanted) {
		return wanted
	}
	return ""
}

// hostHas looks up a path, or a name in the folders of PATH.
func hostHas(program string) bool {
	folders := strings.Split(initproc.Path, ":")
	if strings.Contains(program, "/") {
		folders = []string{""}
	}
	return slices.ContainsFunc(folders, func(dir string) bool {
		_, err := os.Stat(dir + "/" + program)
		return err == nil
	})
}
