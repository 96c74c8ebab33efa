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

// see prepares what the program of a run loads from the host, so that the run does not wait for the disk and is not
// charged for it, and returns a mount of it, nil if the program needs nothing, and the path of a program of the host.
// With RootHost it reads the files themselves into the page cache, which on a host with several NUMA nodes stays on
// the node that read them first, and returns no mount.
func (s *Sandbox) see(spec Spec) (mount *os.File, program string, err error) {
	l, name := s.launcher, spec.Args[0]
	var files []runtimes.Program
	if s.files != nil {
		files = s.files.programs
	}
	if i := ownProgram(spec.Args, spec.Files); i >= 0 {
		s.program, name = &files[i], ""
	}
	switch {
	case l.hasTrees():
		return s.seeTree(name, files)
	case l.options.Root == RootHost:
		c, _, err := l.finder.Find(name, files)
		if err != nil {
			return nil, "", err
		}
		if c != nil {
			l.reader.Read(c)
		}
	}
	return nil, "", nil
}

// seeTree returns a mount of the slot's tree for a program.
func (s *Sandbox) seeTree(name string, files []runtimes.Program) (*os.File, string, error) {
	for again := true; ; again = false {
		c, program, err := s.launcher.finder.Find(name, files)
		if c == nil {
			return nil, "", err
		}
		if s.slot.Trees == nil && name == "" && !slices.ContainsFunc(files, runtimes.Program.Loads) {
			return nil, "", nil // a static program, which does without what it may open later
		}
		if s.slot.Trees == nil {
			return nil, "", errors.New("find files of the host for the program: the slot has no trees; use a static program")
		}
		mount, err := s.slot.Trees.mount(c)
		if !errors.Is(err, errChanged) || !again {
			return mount, program, err
		}
		s.launcher.finder.Forget() // a package is being installed or upgraded
	}
}
