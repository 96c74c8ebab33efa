package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"syscall"

	"judged/internal/base/linux"
	"judged/internal/sandbox/runtimes"
)

// errChanged means that the host's files have changed since they were found.
var errChanged = errors.New("a file of the host has changed since it was found")

// buildTree copies a closure into a new ramfs, with its pages on the slot's node and charged to judged, and makes it
// read-only. A ramfs keeps no negative dentries: it does not show which missing names were looked up.
func buildTree(c *runtimes.Closure, slot Resources) (*os.File, error) {
	tree, err := linux.DetachedRamfs()
	if err != nil {
		return nil, err
	}
	g := treeBuilder{tree: tree, folders: map[string]bool{".": true}}
	err = onNode(slot, func() error { return errors.Join(g.copyAll(c), g.users()) })
	if err == nil {
		err = linux.CloseToWrites(tree)
	}
	if err != nil {
		tree.Close()
		return nil, err
	}
	return tree, nil
}

// treeBuilder fills one tree.
type treeBuilder struct {
	tree    *os.File
	folders map[string]bool // that exist
}

func (g treeBuilder) copyAll(c *runtimes.Closure) error {
	for _, e := range c.Entries {
		name := e.Path[1:]
		if err := g.folder(path.Dir(name)); err != nil {
			return err
		}
		put := g.copy
		if e.IsLink() {
			put = g.link
		}
		if err := put(name, e); err != nil {
			return fmt.Errorf("copy %q: %w", e.Path, err)
		}
	}
	return nil
}

// folder makes a folder and its parents.
func (g treeBuilder) folder(name string) error {
	if g.folders[name] {
		return nil
	}
	if err := g.folder(path.Dir(name)); err != nil {
		return err
	}
	g.folders[name] = true
	return linux.MakeDir(g.tree, name, 0o755, 0)
}

func (g treeBuilder) link(name string, e runtimes.Entry) error {
	return linux.MakeLink(g.tree, name, e.Target)
}

// copy preserves the modification time: Python recompiles a module that is newer than its cached bytecode, and Java
// ignores an archive that is older than its library.
func (g treeBuilder) copy(name string, e runtimes.Entry) error {
	from, err := linux.Open(e.Path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK)
	if errors.Is(err, os.ErrNotExist) {
		return errChanged
	}
	if err != nil {
		return err
	}
	defer from.Close()
	if err := linux.MakeFile(g.tree, name, uint32(e.Mode.Perm()), 0, from); err != nil {
		return err
	}
	// Checked after the copy, so that the copy is consistent.
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if !e.Is(info) {
		return errChanged
	}
	return linux.SetModified(g.tree, name, e.Modified)
}

// users writes the files in which runtimes look up users.
func (g treeBuilder) users() error {
	if err := g.folder("etc"); err != nil {
		return err
	}
	for name, content := range userFiles {
		if err := g.write("etc/"+name, content); err != nil {
			return err
		}
	}
	return nil
}

func (g treeBuilder) write(name, content string) error {
	m, err := linux.Memfd(name)
	if err != nil {
		return err
	}
	defer m.Close()
	if _, err := m.WriteString(content); err != nil {
		return err
	}
	if _, err := m.Seek(0, 0); err != nil {
		return err
	}
	return linux.MakeFile(g.tree, name, 0o644, 0, m)
}
