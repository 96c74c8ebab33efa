package languages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"judged/internal/base/units"
	"judged/internal/sandbox"
)

// runFile is the program in what a build script leaves.
const runFile = "run"

// maxBuilt is how many files a build script may leave.
const maxBuilt = 1000

// takenNames are what programs of the jury find next to them.
var takenNames = []string{"input", "answer", "output", "feedback"}

// built opens the folder that a build script has left, and lists the regular files directly in it, or says why they are
// no program.
func (c *Compiler) built(box *sandbox.Sandbox) (dir *os.File, names []string, failure string, err error) {
	if dir, err = box.OpenFolder(outputFolder); err != nil || dir == nil {
		return nil, nil, "the build script removed its folder", err
	}
	names, failure, err = c.listBuilt(dir)
	if err != nil || failure != "" {
		dir.Close()
		return nil, nil, failure, err
	}
	return dir, names, "", nil
}

func (c *Compiler) listBuilt(dir *os.File) (names []string, failure string, err error) {
	root, err := rootOf(dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, "", err
	}
	var size units.Bytes
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, "", err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if slices.Contains(takenNames, e.Name()) {
			return nil, fmt.Sprintf("the build script left a file %q, the name of something else there", e.Name()), nil
		}
		size += units.Bytes(info.Size())
		names = append(names, e.Name())
	}
	switch {
	case !slices.Contains(names, runFile):
		return nil, "the build script did not make a file run", nil
	case len(names) > maxBuilt:
		return nil, fmt.Sprintf("the build script left %d files; the maximum is %d", len(names), maxBuilt), nil
	case size > c.options.MaxProgram:
		return nil, fmt.Sprintf("the files of the build script have %s; a working directory takes %s", size,
			c.options.MaxProgram), nil
	}
	f, err := root.Open(runFile)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	failure, err = notProgram(f)
	return names, failure, err
}

// copyBuilt copies files of a folder to a new one.
func copyBuilt(to string, dir *os.File, names []string) error {
	root, err := rootOf(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		from, err := root.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(copyFile(filepath.Join(to, name), from), from.Close()); err != nil {
			return err
		}
	}
	return nil
}

func rootOf(dir *os.File) (*os.Root, error) {
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
}
