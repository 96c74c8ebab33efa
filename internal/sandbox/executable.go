package sandbox

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"judged/internal/sandbox/initproc"
	"judged/internal/sandbox/runtimes"
)

// The kernel decides whether a program can be executed, with two exceptions: it starts a truncated ELF file, which
// then crashes on a missing page; and its ENOENT does not show which file is missing.

// ownProgram is the index of the file of the run that is to be executed; -1 means a program of the host.
func ownProgram(args []string, files []File) int {
	name := inBox(args[0])
	return slices.IndexFunc(files, func(f File) bool { return f.Name == name })
}

// refused reports a program that must not be executed although the kernel would try; ok means that it may be.
func refused(program *runtimes.Program) (r Result, ok bool) {
	switch {
	case program == nil:
		return Result{}, true
	case !program.Whole:
		return Result{ExecError: syscall.ELIBBAD}, false
	}
	// env would look for the interpreter and exit with status 127.
	if wanted := program.Wanted; wanted != "" && !hostHas(wanted) {
		return Result{ExecError: syscall.ENOENT, Lacks: wanted}, false
	}
	return Result{}, true
}

// lacks names the missing file if the operator or the platform is responsible when a program cannot be executed; ""
// means that the program itself is at fault. A command that is not a file of the run is the platform's. If the
// program names an interpreter or loader that hosts usually have, the host should have it; a program can name any
// other file.
func lacks(errno syscall.Errno, args []string, program *runtimes.Program) string {
	if program == nil {
		return args[0]
	}
	if errno == syscall.ENOENT && program.Wanted != "" && !hostHas(program.Wanted) {
		return program.Wanted
	}
	return ""
}

// notFound is the exit status of shells that do not find a program.
const notFound = 127

// lacksToContinue names the interpreter that a script did not find to continue in its place; "" if it has another reason
// to end.
func lacksToContinue(code int, program *runtimes.Program) string {
	if code != notFound || program == nil {
		return ""
	}
	for _, name := range program.Executes {
		if !hostHas(name) {
			return name
		}
	}
	return ""
}

// hostHas reports whether the host has a file: a path, or a name in the folders of PATH.
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
