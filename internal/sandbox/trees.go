package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"sync"

	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/runtimes"
)

// treesBytes is the maximum size of the trees of one slot. It is enough for the runtimes of a dozen languages,
// or for twice the largest closure.
const treesBytes units.Bytes = 1 << 30

// Trees holds the copies of host files that the runs of one slot see. Each tree has what one kind of program
// needs and never grows, because a run could learn about another one from whether a file exists or is in
// memory. Runs on another slot see other copies, because two concurrent runs that see the same file can
// communicate through it.
//
// Trees are kept for later runs, up to treesBytes; the least recently used is dropped first.
type Trees struct {
	mounts *mountStore
	slot   Resources
	limit  units.Bytes

	mu    sync.Mutex // guards the fields below; held while a tree is built, because the next caller also needs it
	kept  []tree     // the most recently used last
	bytes units.Bytes
}

// tree is one mounted copy.
type tree struct {
	closure [32]byte // its ID
	place   string   // mount point in the mount store
	bytes   units.Bytes
}

// NewTrees returns the trees of a slot. Close them after its runs and before the Launcher.
func (l *Launcher) NewTrees(slot Resources) *Trees {
	return &Trees{mounts: l.mounts, slot: slot, limit: treesBytes}
}

// mount returns a mount of the tree of a closure, for one run.
func (t *Trees) mount(c *runtimes.Closure) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, err := t.find(c)
	if err != nil {
		return nil, err
	}
	return t.mounts.clone(k.place)
}

// find returns the tree of a closure and marks it as most recently used. It needs the lock.
func (t *Trees) find(c *runtimes.Closure) (tree, error) {
	i := slices.IndexFunc(t.kept, func(k tree) bool { return k.closure == c.ID })
	if i < 0 {
		return t.add(c)
	}
	k := t.kept[i]
	t.kept = append(slices.Delete(t.kept, i, i+1), k)
	return k, nil
}

func (t *Trees) add(c *runtimes.Closure) (tree, error) {
	k := tree{closure: c.ID, bytes: c.Bytes()}
	for len(t.kept) > 0 && t.bytes+k.bytes > t.limit {
		if err := t.evict(); err != nil {
			return tree{}, err
		}
	}
	made, err := buildTree(c, t.slot)
	if err != nil {
		return tree{}, err
	}
	defer made.Close()
	if k.place, err = t.mounts.put(made); err != nil {
		return tree{}, err
	}
	t.kept = append(t.kept, k)
	t.bytes += k.bytes
	return k, nil
}

// evict unmounts the least recently used tree.
func (t *Trees) evict() error {
	k := t.kept[0]
	t.kept = t.kept[1:]
	t.bytes -= k.bytes
	return t.mounts.unmount(k.place)
}

// Close drops all trees.
func (t *Trees) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for len(t.kept) > 0 {
		errs = append(errs, t.evict())
	}
	return errors.Join(errs...)
}

// errChanged means that the host's files have changed since they were found.
var errChanged = errors.New("a file of the host has changed since it was found")

// buildTree copies a closure into a new ramfs, with its pages on the slot's node and charged to judged, and
// makes it read-only. A ramfs keeps no negative dentries, so it does not show which missing names were looked
// up.
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

// folder creates a folder and its parents.
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
	state, err := linux.CopyFile(g.tree, name, e.Path, uint32(e.Mode.Perm()), e.Modified)
	if errors.Is(err, os.ErrNotExist) || err == nil && !e.Is(state) {
		return errChanged
	}
	return err
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
