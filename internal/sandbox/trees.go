package sandbox

import (
	"errors"
	"os"
	"slices"
	"sync"

	"judged/internal/base/units"
	"judged/internal/sandbox/runtimes"
)

// treesBytes bounds the trees of one slot. It is enough for the runtimes of a dozen languages, or for twice the
// largest closure.
const treesBytes units.Bytes = 1 << 30

// Trees are the copies of host files that the runs of one slot see. Each tree has what one kind of program needs and
// never grows: whether a file exists, or is in memory, would let one run learn about another. Runs on another slot
// see other copies, because two concurrent runs that see the same file can communicate through it.
//
// Trees are kept for later runs, up to treesBytes; the least recently used is dropped first.
type Trees struct {
	depot *depot
	slot  Resources
	limit units.Bytes

	mu    sync.Mutex // guards the rest; held while a tree is built, because the next caller needs it too
	kept  []tree     // the most recently used last
	bytes units.Bytes
}

// tree is one mounted copy.
type tree struct {
	closure [32]byte // its ID
	place   string   // in the depot
	bytes   units.Bytes
}

// NewTrees returns the trees of a slot. Close them after its runs and before the Launcher.
func (l *Launcher) NewTrees(slot Resources) *Trees {
	return &Trees{depot: l.depot, slot: slot, limit: treesBytes}
}

// mount returns a mount of the tree of a closure, for one run.
func (t *Trees) mount(c *runtimes.Closure) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, err := t.find(c)
	if err != nil {
		return nil, err
	}
	return t.depot.clone(k.place)
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
		if err := t.drop(); err != nil {
			return tree{}, err
		}
	}
	made, err := buildTree(c, t.slot)
	if err != nil {
		return tree{}, err
	}
	defer made.Close()
	if k.place, err = t.depot.put(made); err != nil {
		return tree{}, err
	}
	t.kept = append(t.kept, k)
	t.bytes += k.bytes
	return k, nil
}

// drop drops the least recently used tree.
func (t *Trees) drop() error {
	k := t.kept[0]
	t.kept = t.kept[1:]
	t.bytes -= k.bytes
	return t.depot.drop(k.place)
}

// Close drops all trees.
func (t *Trees) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for len(t.kept) > 0 {
		errs = append(errs, t.drop())
	}
	return errors.Join(errs...)
}
