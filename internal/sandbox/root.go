package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"judged/internal/base/linux"
	"judged/internal/sandbox/initproc"
)

// Root selects what a program sees of the host's files.
type Root string

// The roots.
const (
	RootPrivate Root = "private" // copies of what the program loads, separate for each slot
	RootHost    Root = "host"    // programs and libraries of the host, read-only
	RootMinimal Root = "minimal" // nothing: static programs only
)

// ParseRoot parses the name of a root.
func ParseRoot(s string) (Root, error) {
	switch r := Root(s); r {
	case RootPrivate, RootHost, RootMinimal:
		return r, nil
	}
	return "", fmt.Errorf("parse root %q: use private, host or minimal", s)
}

// PreparedPath is where programs see Options.Prepared.
const PreparedPath = "/prepared"

// initPath is the path of judged-init in the template: below the mount point of /proc, so that the run's own /proc
// hides it.
const initPath = "/proc/" + initproc.Name

// hostTrees are the folders that programs see, either completely or only the files that they load. A symbolic
// link on the host, as with a merged /usr, is the same link in the sandbox.
var hostTrees = [...]string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// hostSettings are the parts of /etc and /var without which compilers and runtimes do not start: the links that choose one
// of several versions, and files that Debian moved here from /usr. None of them shows users, hosts or keys.
var hostSettings = [...]string{"/etc/alternatives", "/etc/gnucobol", "/etc/java-*", "/etc/mono", "/etc/python3*", "/etc/R",
	"/var/lib/ghc"}

// hostFiles are the single files of /etc that programs see: the loader's cache, without which the loader
// searches all folders for each library, and the time zone.
var hostFiles = [...]string{"/etc/ld.so.cache", "/etc/localtime"}

// userFiles are the files in which runtimes look up users. They do not come from the host.
var userFiles = map[string]string{
	"passwd": "root:x:0:0:root:/:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n",
	"group":  "root:x:0:\nnogroup:x:65534:\n",
}

// buildRoot creates the file system from which all sandboxes start, in the namespaces of the calling thread,
// and moves the thread into it. judged-init inherits a copy of its dozen mounts instead of creating them for
// each run.
func buildRoot(o Options, program []byte) error {
	if err := linux.UnshareFilesystem(); err != nil {
		return err
	}
	root, err := mountPoint()
	if err != nil {
		return err
	}
	size := strconv.Itoa(len(program) + 4<<20)
	if err := linux.Mount("tmpfs", root, linux.NoSuid|linux.NoDev, "mode=0755,nr_inodes=4096,size="+size); err != nil {
		return err
	}
	for _, dir := range []string{initproc.Box, "/proc", initproc.Files} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(root+initPath, program, 0o700); err != nil {
		return err
	}
	fill := fillTemplate
	if o.Without.Has(initproc.Root) {
		fill = exposeHost
	}
	if err := fill(o, root); err != nil {
		return err
	}
	return linux.PivotRoot(root)
}

// fillTemplate adds the files that a run may see to the template, and makes it read-only.
func fillTemplate(o Options, root string) error {
	if err := os.Mkdir(root+"/dev", 0o755); err != nil {
		return err
	}
	if err := os.Symlink(initproc.Box+"/"+initproc.Temp, root+"/tmp"); err != nil {
		return err
	}
	if err := buildDev(root + "/dev"); err != nil {
		return err
	}
	// Except with RootHost, the template has no files. Concurrent runs would share them, and one shared file is
	// enough for a covert channel, by a futex or by the mappings of other processes.
	var err error
	switch o.Root {
	case RootPrivate:
		err = linkToTree(root)
	case RootHost:
		err = errors.Join(buildEtc(root+"/etc"), bindHost(root), bindPrepared(root, o.Prepared))
	}
	if err != nil {
		return err
	}
	return linux.Remount(root, linux.ReadOnly|linux.NoSuid|linux.NoDev)
}

// mountPoint finds a folder to mount on. The mount is visible only in this thread's mount namespace.
func mountPoint() (string, error) {
	for _, dir := range []string{"/mnt", "/media", "/srv", "/tmp"} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", errors.New("find a folder to mount on: no /mnt, /media, /srv or /tmp; create /mnt")
}

func buildDev(dev string) error {
	if err := linux.Mount("tmpfs", dev, linux.NoSuid|linux.NoExec, "mode=0755,size=64k,nr_inodes=32"); err != nil {
		return err
	}
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		if err := linux.Device(filepath.Join(dev, name), 0o666, 1, minor); err != nil {
			return err
		}
	}
	links := map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2", "shm": initproc.Box + "/" + initproc.Shm}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	return linux.Remount(dev, linux.ReadOnly|linux.NoSuid|linux.NoExec)
}

// buildEtc writes the single files of /etc.
func buildEtc(etc string) error {
	if err := os.Mkdir(etc, 0o755); err != nil {
		return err
	}
	files := maps.Clone(userFiles)
	for _, path := range hostFiles {
		if b, err := os.ReadFile(path); err == nil {
			files[filepath.Base(path)] = string(b)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// linkToTree links the host's folders to the mount point of a run's tree. Without a tree the links dangle.
func linkToTree(root string) error {
	if err := os.Mkdir(root+initproc.Host, 0o755); err != nil {
		return err
	}
	for _, path := range append(hostTrees[:], "/etc") {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if err := os.Symlink(initproc.Host[1:]+path, root+path); err != nil {
			return err
		}
	}
	return nil
}

func bindHost(root string) error {
	for _, path := range append(hostTrees[:], settings()...) {
		if err := bindPath(root, path, linux.ReadOnly|linux.NoSuid|linux.NoDev); err != nil {
			return err
		}
	}
	return nil
}

func bindPrepared(root, folder string) error {
	if folder == "" {
		return nil
	}
	if err := os.Mkdir(root+PreparedPath, 0o755); err != nil {
		return err
	}
	return linux.Bind(folder, root+PreparedPath, linux.ReadOnly|linux.NoSuid|linux.NoDev|linux.NoExec)
}

// settings returns the hostSettings that exist on this host.
func settings() []string {
	var all []string
	for _, pattern := range hostSettings {
		found, _ := filepath.Glob(pattern) // the patterns are valid
		all = append(all, found...)
	}
	return all
}

func bindPath(root, path string, flags uintptr) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return os.Symlink(target, root+path)
	}
	if !info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(root+path, 0o755); err != nil {
		return err
	}
	return linux.Bind(path, root+path, flags)
}

// exposeHost replaces fillTemplate when the attack suite removes this layer: it shows the host's files
// unchanged and writable, except for its /proc.
func exposeHost(_ Options, root string) error {
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := "/" + e.Name()
		if _, err := os.Lstat(root + path); err == nil || path == root {
			continue // the box, /proc, and the mount point itself
		}
		if err := bindPath(root, path, 0); err != nil {
			return err
		}
	}
	return nil
}

// putFolders adds to the box what a checker or interactor needs: links to its open files, through which it can
// open them any number of times without a copy or a mount, and a folder that it may write to.
func (s *Sandbox) putFolders(spec Spec) error {
	for i, o := range spec.Open {
		if o.Name == "" {
			continue
		}
		if err := linux.MakeLink(s.box, o.Name, fmt.Sprintf("/proc/self/fd/%d", initproc.FirstOpen+i)); err != nil {
			return err
		}
	}
	if spec.Folder == "" {
		return nil
	}
	if err := linux.MakeDir(s.box, spec.Folder, 0o755, s.uid); err != nil {
		return err
	}
	if spec.FolderFrom == nil {
		return nil
	}
	return s.copyFolder(spec.FolderFrom, spec.Folder)
}

// copyFolder copies regular files and folders without following links. Files that can be executed stay so. Nobody else
// may change from meanwhile.
func (s *Sandbox) copyFolder(from *os.File, to string) error {
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", from.Fd()))
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case entry.IsDir():
			return linux.MakeDir(s.box, to+"/"+name, 0o755, s.uid)
		case !entry.Type().IsRegular():
			return nil
		}
		src, err := root.Open(name)
		if err != nil {
			return err
		}
		defer src.Close()
		info, err := src.Stat()
		if err != nil {
			return err
		}
		return linux.MakeFile(s.box, to+"/"+name, 0o644|uint32(info.Mode()&0o111), s.uid, src)
	})
}

// OpenFolder opens a folder that the run left in its box, or returns nil if it does not exist. It does not
// follow links. The folder remains usable after the sandbox is closed.
func (s *Sandbox) OpenFolder(name string) (*os.File, error) {
	f, err := linux.OpenBeneath(s.box, name)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return f, err
}

// OpenFile opens a file that the run left in its box, or returns nil if the file does not exist. It does not
// follow links, and ignores everything except regular files. Call it between Run and Close. The file remains
// usable after Close.
func (s *Sandbox) OpenFile(name string) (*os.File, error) {
	f, err := linux.OpenBeneath(s.box, name)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EXDEV) {
		// A socket, a device or the named input
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFile returns at most the first maxBytes bytes of a file that the run left in its box; ok reports whether the
// file exists.
func (s *Sandbox) ReadFile(name string, maxBytes int64) (content []byte, ok bool, err error) {
	f, err := s.OpenFile(name)
	if f == nil || err != nil {
		return nil, false, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, maxBytes))
	return content, err == nil, err
}

// IsBoxFull reports whether the box has no space for another page or no inode for another file.
func (s *Sandbox) IsBoxFull() (bool, error) {
	free, err := linux.FreeSpace(fmt.Sprintf("/proc/self/fd/%d", s.box.Fd()))
	return free.Bytes == 0 || free.Inodes == 0, err
}
