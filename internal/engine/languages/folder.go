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

// takenNames are the names of files next to programs of the jury.
var takenNames = []string{"input", "answer", "output", "feedback"}

// built opens the folder that a build script has left, and lists the regular files in it, or says why they are no
// program.
func (c *Compiler) built(box *sandbox.Sandbox, l Language) (dir *os.File, names []string, failure string, err error) {
	if dir, err = box.OpenFolder(outputFolder); err != nil || dir == nil {
		return nil, nil, "the build script removed its folder", err
	}
	names, failure, err = c.listBuilt(dir, l)
	if err != nil || failure != "" {
		dir.Close()
		return nil, nil, failure, err
	}
	return dir, names, "", nil
}

func (c *Compiler) listBuilt(dir *os.File, l Language) (names []string, failure string, err error) {
	root, err := rootOf(dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	var size units.Bytes
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case e.IsDir() && l.Artifact == artifactFolder:
			return fs.SkipDir
		case slices.Contains(takenNames, name) && (e.Type().IsRegular() || e.IsDir()):
			failure = fmt.Sprintf("the build script left a file %q, the name of something else there", name)
			return fs.SkipAll
		case !e.Type().IsRegular():
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		size += units.Bytes(info.Size())
		names = append(names, name)
		return nil
	})
	switch {
	case err != nil || failure != "":
		return nil, failure, err
	case !slices.Contains(names, runFile):
		return nil, "the build script did not make a file run", nil
	case len(names) > maxBuilt:
		return nil, fmt.Sprintf("the build script left %d files; the maximum is %d", len(names), maxBuilt), nil
	case size > c.options.MaxProgram:
		return nil, fmt.Sprintf("the files of the build script have %s; a working directory takes %s", size,
			c.options.MaxProgram), nil
	case l.Run[0] != programMark:
		return names, "", nil
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
		file := filepath.Join(to, name)
		err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), copyFile(file, from), from.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

func rootOf(dir *os.File) (*os.Root, error) {
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
}
