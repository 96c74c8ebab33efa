package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"judged/internal/sandbox/initproc"
	"judged/internal/sandbox/runtimes"
)

// newFinder returns a finder for what programs may see of this host.
func newFinder() *runtimes.Finder {
	single := hostFiles[:]
	return runtimes.NewFinder(runtimes.Places{
		Shown: slices.Concat(hostTrees[:], settings(), single), Path: strings.Split(initproc.Path, ":"),
		// Of the folders, those that are links, such as /bin -> usr/bin.
		Every: slices.Concat(hostTrees[:], single), Cache: hostFiles[0],
	})
}

// find returns the files of the host that the program of a run needs, and the program's path if it is the host's.
func (l *Launcher) find(args []string, files []File) (*runtimes.Closure, string) {
	name := args[0]
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
		if inBox(args[0]) == f.Name {
			name = ""
		}
	}
	return l.finder.Find(name, paths)
}

// inBox is the name of a program in the working directory, or "" if it is not there.
func inBox(program string) string {
	if !strings.Contains(program, "/") {
		return ""
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(initproc.WorkDir, program)
	}
	name, ok := strings.CutPrefix(filepath.Clean(program), initproc.WorkDir+"/")
	if !ok {
		return ""
	}
	return name
}

// Preread prepares what a program of future runs loads from the host, unless that was done a moment ago, so that no
// run waits for the disk or is charged for it. It builds the tree of the slot, or with RootHost it reads the files
// themselves into the page cache, which on a host with several NUMA nodes stays on the node that read them first. It
// ignores errors: the run reports them.
func (l *Launcher) Preread(slot Resources, args []string, files []File) {
	switch {
	case l.hasTrees():
		_, _ = l.withTree(slot, args, files, (*Trees).make)
	case l.options.Root == RootHost:
		if c, _ := l.find(args, files); c != nil {
			l.reader.Read(c)
		}
	}
}

// see returns a mount of what the program of a run sees of the host, nil if it needs nothing, and the program's path
// if it is the host's.
func (l *Launcher) see(slot Resources, args []string, files []File) (mount *os.File, program string, err error) {
	if !l.hasTrees() {
		return nil, "", nil
	}
	program, err = l.withTree(slot, args, files, func(t *Trees, c *runtimes.Closure) (err error) {
		mount, err = t.mount(c)
		return err
	})
	return mount, program, err
}

// withTree calls do with the slot's trees and the closure of a program, if it needs anything, and returns the
// program's path if it is the host's.
func (l *Launcher) withTree(
	slot Resources, args []string, files []File, do func(*Trees, *runtimes.Closure) error,
) (string, error) {
	for again := true; ; again = false {
		c, program := l.find(args, files)
		if c == nil {
			return "", nil
		}
		if slot.Trees == nil {
			return "", errors.New("find files of the host for the program: the slot has no trees; use a static program")
		}
		err := do(slot.Trees, c)
		if !errors.Is(err, errChanged) || !again {
			return program, err
		}
		l.finder.Forget() // a package is being installed or upgraded
	}
}
