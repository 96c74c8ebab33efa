package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/topology"
)

// Options say which host, for which CPUs, and where the journal is.
type Options struct {
	FS      hostfs.FS
	Journal string     // file; "" for a captured host, which has none
	CPUs    cpuset.Set // the reserved CPUs; empty: the isolated ones, else the last one
	Width   int        // CPUs of one slot; 0 is 1
	Only    []string   // ids of settings; none is all
	// Quiet leaves out what would interrupt a CPU that may be judging, and threads, of which there
	// are thousands: for the daemon, which compares every minute.
	Quiet bool
}

// UsageError says that the question made no sense on this machine; nothing was done.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

// Reserve decides which CPUs are reserved: those asked for, else the isolated ones, else the last.
func Reserve(top topology.Topology, asked cpuset.Set) (cpuset.Set, error) {
	known := top.Present.Union(top.Online)
	reserved := asked
	switch {
	case !asked.IsSubsetOf(known):
		return nil, &UsageError{fmt.Sprintf("CPU %s is not on this machine; it has %s", asked.Minus(known), known)}
	case len(asked) > 0:
	case len(top.Isolated) > 0:
		reserved = top.Isolated
	default:
		reserved = cpuset.New(top.Online[len(top.Online)-1])
	}
	if len(top.Online.Minus(reserved)) == 0 {
		return nil, &UsageError{fmt.Sprintf("reserve CPU %s: none of %s is left for the kernel and everybody else; reserve fewer", reserved, top.Online)}
	}
	return reserved, nil
}

// view is the host as a knob sees it.
type view struct {
	fs           hostfs.FS
	top          topology.Topology
	reserved     cpuset.Set // online and not
	housekeeping cpuset.Set // the other online ones
	width        int
	mount        string // of cgroup v2 with cpuset, or ""
}

// look reads the host anew: applying one knob changes what the next one sees.
func look(ctx context.Context, o Options) (*view, error) {
	top, err := topology.Read(o.FS)
	if err != nil {
		return nil, fmt.Errorf("examine host: %w", err)
	}
	v := &view{fs: o.FS, top: top, width: max(o.Width, 1), mount: cpusetMount(o.FS)}
	if v.reserved, err = Reserve(top, o.CPUs); err != nil {
		return nil, err
	}
	v.housekeeping = top.Online.Minus(v.reserved)
	return v, ctx.Err()
}

// without are the CPUs of a set that are not reserved; if none is, all those of the house.
func (v *view) without(set cpuset.Set) cpuset.Set {
	if rest := set.Minus(v.reserved); len(rest.Intersect(v.top.Online)) > 0 {
		return rest
	}
	return v.housekeeping
}

// change is a value that a knob wants to be another.
type change struct {
	entry
	from string
	name string // of a thread
	row  row
	// witness: tune does not write it, the kernel does as a consequence of what tune writes.
	witness bool
}

func (c change) to() string { return c.Ours[len(c.Ours)-1] }

// proposal is what a knob wants on one host.
type proposal struct {
	changes []change
	stays   []Value  // what cannot be changed, each with its reason
	right   int      // values that are as wanted
	threads []thread // all of the host, where threads are to be moved
	skip    string   // why there is nothing at all
}

// propose asks a knob.
func (k knob) propose(v *view) proposal {
	if k.find != nil {
		return k.find(v)
	}
	var p proposal
	for _, r := range k.rows {
		r.propose(v, k.id, &p)
	}
	if len(p.changes)+len(p.stays)+p.right == 0 {
		p.skip = strings.NewReplacer("{cpu}", "N", "[0-9]*", "N").Replace(k.rows[0].pattern) + " does not exist"
	}
	return p
}

func (r row) propose(v *view, setting string, p *proposal) {
	for _, file := range r.files(v) {
		now, err := value(v.fs, entry{Kind: r.kind, Path: file})
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.EOPNOTSUPP):
			continue // a source that is not in charge is none: intel_pstate says EAGAIN beside another driver
		case err != nil:
			p.stays = append(p.stays, Value{Path: file, State: Stays, Reason: "cannot be read: " + cause(err)})
			continue
		}
		switch to, reason := r.to(v, file, now); {
		case reason != "":
			p.stays = append(p.stays, Value{Path: file, From: now, State: Stays, Reason: reason})
		case to == now:
			p.right++
		default:
			p.changes = append(p.changes, change{entry: entry{Setting: setting, Kind: r.kind, Path: file, Old: now, Ours: []string{to}}, from: now, row: r})
		}
	}
}

// files are the paths of a row on this host.
func (r row) files(v *view) []string {
	patterns := []string{r.pattern}
	if before, after, perCPU := strings.Cut(r.pattern, "{cpu}"); perCPU {
		patterns = nil
		for _, id := range v.reserved.Intersect(v.top.Online) {
			patterns = append(patterns, fmt.Sprintf("%s%d%s", before, id, after))
		}
	}
	var files []string
	for _, p := range patterns {
		// An unreadable pattern cannot happen: they are constants.
		found, _ := v.fs.Glob(p)
		files = append(files, found...)
	}
	return files
}

// value is what the kernel reads at the place of an entry.
func value(h hostfs.FS, e entry) (string, error) {
	switch e.Kind {
	case affinity:
		return readAffinity(h, e)
	case partition:
		return readPartition(h, e.Path)
	case area:
		return readArea(h, e.Path)
	}
	text, err := h.Read(e.Path)
	if err != nil {
		return "", err
	}
	meaning, err := e.Kind.meaning(text)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", e.Path, err)
	}
	return meaning, nil
}

// cause is an error without the path, which is told beside it.
func cause(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

// chosen are the knobs that were asked for.
func chosen(only []string) ([]knob, error) {
	all := knobs()
	for _, id := range only {
		if slices.ContainsFunc(all, func(k knob) bool { return k.id == id }) {
			continue
		}
		if other, ok := alsoMended()[id]; ok {
			return nil, &UsageError{fmt.Sprintf("setting %q: it is set with %s; ask for that", id, other)}
		}
		if reason, ok := Uncovered(id); ok {
			return nil, &UsageError{fmt.Sprintf("setting %q: tune does not set it: %s", id, reason)}
		}
		return nil, &UsageError{fmt.Sprintf("setting %q: there is none of that name; use %s", id, strings.Join(IDs(), ", "))}
	}
	if len(only) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(k knob) bool { return !slices.Contains(only, k.id) }), nil
}

// Plan says what Apply would change. It changes nothing and needs no journal. What is found by one
// knob is not what it will be once the ones before it are turned, so it is a forecast.
func Plan(ctx context.Context, o Options) (Report, error) {
	selected, err := chosen(o.Only)
	if err != nil {
		return Report{}, err
	}
	v, err := look(ctx, o)
	if err != nil {
		return Report{}, err
	}
	r := v.report("plan")
	for _, k := range selected {
		p := k.propose(v)
		s := k.describe(p)
		for _, c := range p.changes {
			if !c.witness {
				s.Values = append(s.Values, c.value(Change, ""))
			}
		}
		s.Values = append(s.Values, p.stays...)
		r.add(s)
	}
	return r, nil
}
