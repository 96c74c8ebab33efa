package sandbox

import (
	"container/list"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/runtimes"
)

// Copies holds files of the host in memory for runs: programs with their files, and inputs. Each file is copied
// once per slot, to the slot's NUMA node, and the runs on that slot use the copy one after the other. Two
// concurrent runs that see the same file can communicate through it, and a run that gets another copy than the
// run before it learns that the first copy is in use. A second concurrent run on a slot therefore gets its own
// copy.
//
// Copies are in a ramfs, large inputs in huge pages (openHuge). They belong to root, and are charged to judged. A run
// sees a read-only mount of the folder with its files, and its input as a descriptor or as a read-only mount of that
// file. Reading leaves no trace in a ramfs (DetachedRamfs); the times of a copy are reset before each run.
//
// Unused copies are kept up to a limit; the least recently used is evicted first.
type Copies struct {
	ramfs  *os.File // mounted in the mount store
	root   *os.Root // the root of ramfs
	mounts *mountStore
	limit  units.Bytes // for all copies; those in use may exceed it
	small  error       // reason why large inputs are not in huge pages, or nil

	mu    sync.Mutex // guards the fields below
	huge  []*os.File // empty files for large inputs, see openHuge
	idle  *list.List // of *copied, the least recently used first
	byKey map[string][]*list.Element
	bytes units.Bytes // total size of all copies
}

// copied is a copy of one input, or of the files of one program.
type copied struct {
	key    string // equal for equal content; a copy with the key "" is not reused
	bytes  units.Bytes
	name   string // of the input, or of the folder of the files; random, because runs see it
	input  *os.File
	huge   bool   // input is one of Copies.huge
	locked []byte // the content of such a file
	// programs describes how the files are executed, in the order of the files.
	programs []runtimes.Program
}

// Copies use at most the smaller of maxCopiesBytes and a share of the host's memory.
const (
	maxCopiesBytes units.Bytes = 4 << 30
	copiesShare                = 16
)

func openCopies(d *mountStore) (*Copies, error) {
	total, err := linux.TotalMemory()
	if err != nil {
		return nil, err
	}
	c := &Copies{mounts: d, limit: min(maxCopiesBytes, units.Bytes(total)/copiesShare), idle: list.New(),
		byKey: map[string][]*list.Element{}}
	if c.ramfs, err = linux.DetachedRamfs(); err != nil {
		return nil, err
	}
	if c.root, err = os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", c.ramfs.Fd())); err != nil {
		return nil, errors.Join(err, c.ramfs.Close())
	}
	if err := d.putReadOnly(c.ramfs, copiesPlace); err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.small = c.openHuge(int64(total))
	return c, nil
}

// SmallPages returns the reason why this process copies large inputs as it copies small ones, or nil. Programs then read
// them in more CPU time than without judged.
func (c *Copies) SmallPages() error { return c.small }

// largeInput is the size from which an input gets huge pages. Reading those takes less CPU time than reading the page
// cache; reading other copies takes more.
const largeInput = 32 << 20

// openHuge creates the files that hold large inputs, unless the kernel or a limit of judged prevents it: all of the
// memory of the host must be allowed to be locked. Huge pages are
// those of a tmpfs, which lacks three properties of a ramfs. Its files have creation times: all files are made here, and
// used again after they were emptied, so the time is not that of an input. Its pages are on lists of those used lately,
// and advice may split huge ones: neither holds for locked pages that judged maps, too. statfs shows the free space: see
// DetachedHuge.
func (c *Copies) openHuge(memoryBytes int64) error {
	dir, err := linux.DetachedHuge()
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := c.mounts.putReadOnly(dir, hugePlace); err != nil {
		return err
	}
	if err := linux.CanLock(memoryBytes); err != nil { // copies in use may exceed the limit
		return err
	}
	for range c.limit / largeInput {
		f, err := linux.MakeEmpty(dir, rand.Text())
		if err != nil {
			return err // those that were made are used
		}
		c.huge = append(c.huge, f)
	}
	return nil
}

// takeHuge returns a file for an input, or nil if it is not large or all are in use.
func (c *Copies) takeHuge(size int64) *os.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.huge) - 1
	if size < largeInput || last < 0 {
		return nil
	}
	f := c.huge[last]
	c.huge = c.huge[:last]
	return f
}

// returnHuge frees the memory of an input and makes its file available again.
func (c *Copies) returnHuge(k *copied) (err error) {
	if k.locked != nil {
		err = linux.Unmap(k.locked)
	}
	if err = errors.Join(err, k.input.Truncate(0)); err != nil {
		return errors.Join(err, k.input.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.huge = append(c.huge, k.input)
	return nil
}

func (c *Copies) close() error {
	c.mu.Lock()
	c.limit = 0
	gone := c.evict()
	c.mu.Unlock()
	err := errors.Join(c.remove(gone...), c.root.Close(), c.ramfs.Close())
	for _, f := range c.huge {
		err = errors.Join(err, f.Close())
	}
	return err
}

// acquire returns a copy for one run: an idle one with that key, or a new one filled by fill.
func (c *Copies) acquire(key string, size units.Bytes, fill func(*copied) error) (*copied, error) {
	if k := c.find(key); k != nil {
		return k, nil
	}
	k := &copied{key: key, bytes: size}
	err := c.makeRoom(size)
	if err == nil {
		err = fill(k)
	}
	if err != nil {
		k.key = ""
		return nil, errors.Join(err, c.release(k))
	}
	return k, nil
}

// find returns an idle copy, or nil.
func (c *Copies) find(key string) *copied {
	c.mu.Lock()
	defer c.mu.Unlock()
	same := c.byKey[key]
	if len(same) == 0 {
		return nil
	}
	return c.pick(same[len(same)-1])
}

func (c *Copies) makeRoom(size units.Bytes) error {
	c.mu.Lock()
	c.bytes += size
	gone := c.evict()
	c.mu.Unlock()
	return c.remove(gone...)
}

// release returns a copy. No process that has seen it may still be alive.
func (c *Copies) release(k *copied) error {
	c.mu.Lock()
	var gone []*copied
	if k.key == "" {
		c.bytes -= k.bytes
		gone = []*copied{k}
	} else {
		c.byKey[k.key] = append(c.byKey[k.key], c.idle.PushBack(k))
		gone = c.evict()
	}
	c.mu.Unlock()
	return c.remove(gone...)
}

// evict removes copies from the lists until the rest fits. The caller closes them. It needs the lock.
func (c *Copies) evict() (gone []*copied) {
	for c.bytes > c.limit && c.idle.Len() > 0 {
		k := c.pick(c.idle.Front())
		c.bytes -= k.bytes
		gone = append(gone, k)
	}
	return gone
}

// pick removes an idle copy from the lists. It needs the lock.
func (c *Copies) pick(e *list.Element) *copied {
	k := c.idle.Remove(e).(*copied)
	same := slices.DeleteFunc(c.byKey[k.key], func(other *list.Element) bool { return other == e })
	if c.byKey[k.key] = same; len(same) == 0 {
		delete(c.byKey, k.key)
	}
	return k
}

func (c *Copies) remove(gone ...*copied) error {
	var errs []error
	for _, k := range gone {
		if k.huge {
			errs = append(errs, c.returnHuge(k))
			continue
		}
		if k.input != nil {
			errs = append(errs, k.input.Close())
		}
		if k.name != "" {
			errs = append(errs, c.root.RemoveAll(k.name))
		}
	}
	return errors.Join(errs...)
}

// identity returns a key that stays equal while a regular file is unchanged. It returns "" for a file that
// cannot be identified.
func identity(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d:%d:%d", st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano())
}

// acquireFiles returns a copy of a program and its files, which may have at most maxBytes. Their times are set to now,
// as if they were made for this run.
func (c *Copies) acquireFiles(files []File, slot Resources, maxBytes units.Bytes) (*copied, error) {
	var key strings.Builder
	fmt.Fprintf(&key, "files on %s", slot.CPUs)
	var infos []fs.FileInfo
	var size, bytes units.Bytes
	for _, f := range files {
		info, err := os.Stat(f.Path)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
		size += units.Bytes(info.Size())
		bytes += runtimes.Footprint(info.Size())
		fmt.Fprintf(&key, " %q %t %s", f.Name, f.Exec, identity(info))
	}
	if size > maxBytes {
		return nil, fmt.Errorf("copy program and files: %d bytes exceed sandbox.work_size, %d; raise it", size, maxBytes)
	}
	k, err := c.acquire(key.String(), bytes+runtimes.Footprint(0), func(k *copied) error {
		k.name = rand.Text()
		return c.fillFolder(k, files, infos, slot)
	})
	if err != nil {
		return nil, err
	}
	if err := c.renew(k.name, files); err != nil {
		return nil, errors.Join(err, c.release(k))
	}
	return k, nil
}

func (c *Copies) fillFolder(k *copied, files []File, infos []fs.FileInfo, slot Resources) error {
	if err := linux.MakeDir(c.ramfs, k.name, 0o755, 0); err != nil {
		return err
	}
	for _, folder := range foldersOf(files) {
		if err := linux.MakeDir(c.ramfs, k.name+"/"+folder, 0o755, 0); err != nil {
			return err
		}
	}
	return onNode(slot, func() error {
		for i, f := range files {
			if err := c.copyFile(k, f, infos[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Copies) copyFile(k *copied, f File, known fs.FileInfo) error {
	src, err := linux.Open(f.Path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer src.Close()
	mode := uint32(0o644)
	if f.Exec {
		mode = 0o755
	}
	if err := linux.MakeFile(c.ramfs, k.name+"/"+f.Name, mode, 0, src); err != nil {
		return err
	}
	program, err := runtimes.Inspect(src, known.Size())
	if err != nil {
		return err
	}
	k.programs = append(k.programs, program)
	return unchanged(src, known)
}

// unchanged returns an error if a file has changed since known. It is called after the copy, which is
// consistent otherwise.
func unchanged(f *os.File, known fs.FileInfo) error {
	info, err := f.Stat()
	if err == nil && identity(info) != identity(known) {
		err = fmt.Errorf("copy %q: file changed during the copy; try again", f.Name())
	}
	return err
}

// renew sets the times of a folder and its files.
func (c *Copies) renew(folder string, files []File) error {
	now := time.Now()
	err := linux.SetModified(c.ramfs, folder, now)
	for _, f := range files {
		err = errors.Join(err, linux.SetModified(c.ramfs, folder+"/"+f.Name, now))
	}
	return err
}

// mount returns read-only mounts of the files and the input of one run. Each may be nil, and then so is its mount. Two
// calls take longer, because each of them waits for the mount store's thread.
func (c *Copies) mount(files, input *copied) (mounts [2]*os.File, err error) {
	if files == nil && input == nil {
		return mounts, nil
	}
	err = c.mounts.do(func() (err error) {
		for i, k := range []*copied{files, input} {
			if k != nil && err == nil {
				mounts[i], err = linux.CloneMount(k.place())
			}
		}
		return err
	})
	return mounts, err
}

// place returns the path in the mount store from where runs get clones.
func (k *copied) place() string {
	if k.huge {
		return hugePlace + "/" + k.name
	}
	return copiesPlace + "/" + k.name
}

// acquireInput returns a copy of an open file. key is its identity, or "" for a copy that is not kept.
func (c *Copies) acquireInput(f *os.File, info fs.FileInfo, key string, slot Resources) (*copied, error) {
	if key != "" {
		key = fmt.Sprintf("input on %s %s", slot.CPUs, key)
	}
	return c.acquire(key, runtimes.Footprint(info.Size()), func(k *copied) (err error) {
		size := info.Size()
		if k.input = c.takeHuge(size); k.input != nil {
			k.huge, k.name = true, k.input.Name()
			err = onNode(slot, func() (err error) {
				k.locked, err = linux.CopyLocked(k.input, f, size)
				return err
			})
			return errors.Join(err, unchanged(f, info))
		}
		k.name = rand.Text()
		if k.input, err = linux.MakeEmpty(c.ramfs, k.name); err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			_, err := io.Copy(k.input, struct{ io.Reader }{f}) // sendfile(2) refuses the null device
			return err
		}
		err = onNode(slot, func() error { return linux.CopyAll(int(k.input.Fd()), int(f.Fd())) })
		return errors.Join(err, unchanged(f, info))
	})
}
