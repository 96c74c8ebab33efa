package sandbox

import (
	"errors"
	"os"
	"strconv"

	"judged/internal/base/linux"
)

// depot is an empty mount namespace in which trees and copies are mounted. It belongs to a thread; when the thread
// ends, the namespace and all mounts in it are gone. In the template's namespace every tree would be copied for every
// run. An unattached mount is no alternative: kernels before 6.15 cannot clone one.
type depot struct {
	thread chan func()
	made   int // number of trees so far; only the thread uses it
}

func openDepot() (*depot, error) {
	d := &depot{thread: make(chan func())}
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

// do runs job on the depot's thread and waits for it.
func (d *depot) do(job func() error) error {
	done := make(chan error)
	d.thread <- func() { done <- job() }
	return <-done
}

// put mounts a tree until it is dropped, and returns where.
func (d *depot) put(tree *os.File) (place string, err error) {
	return place, d.do(func() error {
		d.made++
		place = "/" + strconv.Itoa(d.made)
		return attach(tree, place)
	})
}

// putCopies mounts the folders of Copies, and a read-only clone of that mount which runs get clones of. The file
// itself still refers to a writable mount.
func (d *depot) putCopies(ramfs *os.File) error {
	return d.do(func() error {
		if err := attach(ramfs, copiesPlace+"-writable"); err != nil {
			return err
		}
		readOnly, err := linux.CloneMount(copiesPlace + "-writable")
		if err != nil {
			return err
		}
		defer readOnly.Close()
		return errors.Join(linux.CloseToWrites(readOnly), attach(readOnly, copiesPlace))
	})
}

// copiesPlace is where Copies are mounted read-only.
const copiesPlace = "/copies"

// attach makes a folder and mounts there.
func attach(mount *os.File, place string) error {
	if err := os.Mkdir(place, 0o700); err != nil {
		return err
	}
	if err := linux.Attach(mount, place); err != nil {
		return errors.Join(err, os.Remove(place))
	}
	return nil
}

// clone returns another mount of a tree or a folder, for one run.
func (d *depot) clone(place string) (mount *os.File, err error) {
	err = d.do(func() (err error) {
		mount, err = linux.CloneMount(place)
		return err
	})
	return mount, err
}

// drop unmounts a tree. A run that uses it keeps its own mount until it ends.
func (d *depot) drop(place string) error {
	return d.do(func() error {
		if err := linux.Detach(place); err != nil {
			return err
		}
		return os.Remove(place)
	})
}

func (d *depot) close() { close(d.thread) }
