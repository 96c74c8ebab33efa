package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/linux"
	"judged/internal/sandbox/initproc"
	"judged/internal/sandbox/runtimes"
)

// mountStore is an empty mount namespace in which trees and copies are mounted. It belongs to a thread; when
// the thread exits, the namespace and all its mounts are removed. In the template's namespace each tree would
// be copied for each run. Detached mounts are not an alternative: kernels before 6.15 cannot clone them.
type mountStore struct {
	thread chan func()
	made   int // number of trees so far; only the thread uses it
}

func openMountStore() (*mountStore, error) {
	d := &mountStore{thread: make(chan func())}
	ready := make(chan error)
	onOwnThread(func() {
		err := buildDepot()
		ready <- err
		if err != nil {
			return
		}
		for job := range d.thread {
			job()
		}
	})
	return d, <-ready
}

func buildDepot() error {
	if err := linux.UnshareFilesystem(); err != nil {
		return err
	}
	root, err := mountPoint()
	if err != nil {
		return err
	}
	if err := linux.Mount("tmpfs", root, linux.NoSuid|linux.NoDev|linux.NoExec, "mode=0700,size=64k"); err != nil {
		return err
	}
	return linux.PivotRoot(root)
}

// do runs job on the mount store's thread and waits for it.
func (d *mountStore) do(job func() error) error {
	done := make(chan error)
	d.thread <- func() { done <- job() }
	return <-done
}

// put mounts a tree and returns the mount point. The tree stays mounted until drop.
func (d *mountStore) put(tree *os.File) (place string, err error) {
	return place, d.do(func() error {
		d.made++
		place = "/" + strconv.Itoa(d.made)
		return attach(tree, place)
	})
}

// putReadOnly mounts a file system read-only at place, from where runs get clones. tree stays writable and is mounted
// nowhere, so that the path of a file opened in it has no folder of judged.
func (d *mountStore) putReadOnly(tree *os.File, place string) error {
	return d.do(func() error {
		if err := attach(tree, place); err != nil { // the kernel clones only what is mounted
			return err
		}
		readOnly, err := linux.CloneMount(place)
		if err != nil {
			return err
		}
		defer readOnly.Close()
		err = errors.Join(linux.CloseToWrites(readOnly), linux.Detach(place), os.Remove(place))
		if err != nil {
			return err
		}
		return attach(readOnly, place)
	})
}

// Where Copies are mounted read-only.
const (
	copiesPlace = "/copies"
	hugePlace   = "/huge" // those in huge pages
)

// attach creates a folder and mounts there.
func attach(mount *os.File, place string) error {
	if err := os.Mkdir(place, 0o700); err != nil {
		return err
	}
	if err := linux.Attach(mount, place); err != nil {
		return errors.Join(err, os.Remove(place))
	}
	return nil
}

// clone returns another mount of a tree, for one run.
func (d *mountStore) clone(place string) (mount *os.File, err error) {
	err = d.do(func() (err error) {
		mount, err = linux.CloneMount(place)
		return err
	})
	return mount, err
}

// unmount detaches a tree. A run that uses it keeps its own mount until it ends.
func (d *mountStore) unmount(place string) error {
	return d.do(func() error {
		if err := linux.Detach(place); err != nil {
			return err
		}
		return os.Remove(place)
	})
}

func (d *mountStore) close() { close(d.thread) }

// newFinder returns a finder for the files of this host that programs may see.
func newFinder() *runtimes.Finder {
	single := hostFiles[:]
	return runtimes.NewFinder(runtimes.Places{
		Shown: slices.Concat(hostTrees[:], settings(), single), Path: strings.Split(initproc.Path, ":"),
		// Of the folders, those that are links, such as /bin -> usr/bin.
		Every: slices.Concat(hostTrees[:], single), Cache: hostFiles[0],
	})
}

// inBox returns the name of a program in the working directory, or "" if it is not there.
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

// mountRuntime prepares the host files that the program of a run loads, so that the run does not wait for the
// disk and is not charged for the files. It returns a mount of them, or nil if the program needs none, and the
// path of a program of the host. With RootHost it returns no mount, and reads the files into the page cache
// unless programs are Cold. On a host with several NUMA nodes they stay on the node that read them first.
func (s *Sandbox) mountRuntime(spec Spec) (mount *os.File, program string, err error) {
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
	case l.options.Root == RootHost && !l.options.Cold:
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
	if s.slot.Trees == nil && name == "" && !slices.ContainsFunc(files, runtimes.Program.Loads) {
		return nil, "", nil // a static program, which works without the files that it may open later
	}
	for again := true; ; again = false {
		c, program, err := s.launcher.finder.Find(name, files)
		if c == nil {
			return nil, "", err
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
