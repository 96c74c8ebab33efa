package sandbox

import (
	"errors"
	"os"
	"slices"
	"sync"

	"judged/internal/base/units"
	"judged/internal/sandbox/runtimes"
)

// treesBytes is what the trees of one slot take at most. It is room for the
// runtimes of a dozen languages, or for the largest closure twice.
const treesBytes units.Bytes = 1 << 30

// Trees are the copies of files of the host that the runs of one slot see. Each
// has what one kind of program needs and never grows: a file that is there or
// not, or in memory or not, would tell one run of another. Runs on another slot
// see other copies, because two runs at once that see one file can talk by it.
//
// Trees are kept for later runs, up to treesBytes; the one that nobody has used
// for longest goes first.
type Trees struct {
	depot *depot
	slot  Slot
	room  units.Bytes

	mu    sync.Mutex // guards the rest, and is held while a tree is made: who comes second needs it too
	kept  []tree     // the one used last at the end
	bytes units.Bytes
}

// tree is one of them.
type tree struct {
	closure [32]byte // its ID
	place   string   // in the depot
	bytes   units.Bytes
}

// NewTrees makes room for the trees of a slot. Close it, before the Launcher and
// after its runs.
func (l *Launcher) NewTrees(slot Slot) *Trees {
	return &Trees{depot: l.depot, slot: slot, room: treesBytes}
}

// mount makes a mount of the tree of a closure, for one run.
func (t *Trees) mount(c *runtimes.Closure) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, err := t.find(c)
	if err != nil {
		return nil, err
	}
	return t.depot.clone(k.place)
}

// make makes the tree of a closure, unless it is there.
func (t *Trees) make(c *runtimes.Closure) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.find(c)
	return err
}

// find returns the tree of a closure, which is then the one used last. It needs
// the lock.
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
	for len(t.kept) > 0 && t.bytes+k.bytes > t.room {
		if err := t.drop(); err != nil {
			return tree{}, err
		}
	}
	made, err := plant(c, t.slot)
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

// drop lets the oldest tree go.
func (t *Trees) drop() error {
	k := t.kept[0]
	t.kept = t.kept[1:]
	t.bytes -= k.bytes
	return t.depot.drop(k.place)
}

// Close lets all trees go.
func (t *Trees) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for len(t.kept) > 0 {
		errs = append(errs, t.drop())
	}
	return errors.Join(errs...)
}
