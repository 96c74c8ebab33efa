package tune

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/settings"
)

// Options selects the host, the CPUs, and the journal.
type Options struct {
	FS      hostfs.FS
	Journal string     // path; "" for a captured host, which has none
	CPUs    cpuset.Set // the reserved CPUs; if empty, the isolated CPUs or else the last one
	Width   int        // number of CPUs per slot; 0 means 1
	Only    []string   // IDs of settings; empty means all
	// Quiet skips files whose reading interrupts a CPU that may be in use, and threads, of which there are
	// thousands, because the daemon compares values every minute.
	Quiet bool
}

// UsageError means that the request is invalid for this machine; nothing was done.
type UsageError = settings.UsageError

// view is the host as read for one knob.
type view struct {
	settings.Host
	mount string // mount point of cgroup v2 with cpuset, or ""
}

// examine reads the host again on each call, because applying a knob affects the next one.
func examine(ctx context.Context, o Options) (*view, error) {
	h, err := settings.Examine(o.FS, o.CPUs, o.Width)
	if err != nil {
		return nil, err
	}
	if err := h.NeedHousekeeping(); err != nil {
		return nil, err
	}
	return &view{Host: h, mount: cpusetMount(o.FS)}, ctx.Err()
}

// change is a value to be changed.
type change struct {
	entry
	from      string
	name      string // for a thread
	mayRefuse bool   // rejection by the kernel is not a failure
	// witness means that tune does not write the value; the kernel changes it as a side effect.
	witness bool
}

// proposal lists the changes that a knob needs on a host.
type proposal struct {
	changes []change
	stays   []Value         // values that cannot be changed, with reasons
	right   int             // number of values that need no change
	threads []hostfs.Thread // all threads of the host, if threads are moved
	skip    string          // why the whole setting does not apply
}

// propose returns the changes that the knob needs.
func (k knob) propose(v *view) proposal {
	if k.find != nil {
		return k.find(v)
	}
	var p proposal
	for _, value := range k.Values {
		p.add(v, k.ID, value)
	}
	if len(p.changes)+len(p.stays)+p.right == 0 {
		p.skip = strings.NewReplacer("{cpu}", "N", "[0-9]*", "N").Replace(k.Values[0].Pattern) + " does not exist"
	}
	return p
}

func (p *proposal) add(v *view, setting string, wanted settings.Value) {
	for _, file := range wanted.Files(&v.Host) {
		now, err := value(v.FS, entry{Kind: wanted.Kind, Path: file})
		switch {
		case settings.Absent(err):
			continue
		case err != nil:
			p.stays = append(p.stays, Value{Path: file, State: Stays, Reason: "cannot read it: " + cause(err)})
			continue
		}
		switch to, reason := wanted.Wanted(&v.Host, file, now); {
		case reason != "":
			p.stays = append(p.stays, Value{Path: file, From: now, State: Stays, Reason: reason})
		case to == now:
			p.right++
		default:
			p.changes = append(p.changes, change{entry: entry{Setting: setting, Kind: wanted.Kind, Path: file, Old: now,
				Ours: []string{to}},
				from: now, mayRefuse: wanted.MayRefuse})
		}
	}
}

// selectKnobs returns the knobs with the given IDs, or all knobs if there are none.
func selectKnobs(only []string) ([]knob, error) {
	for _, id := range only {
		s, known := settings.Get(id)
		switch {
		case s.Risk != "":
		case !known:
			return nil, &UsageError{Reason: fmt.Sprintf("unknown setting %q; use %s", id, strings.Join(IDs(), ", "))}
		case s.TunedBy != "":
			return nil, &UsageError{Reason: fmt.Sprintf("setting %q is set with %s; ask for that", id, s.TunedBy)}
		case s.NotTuned != "":
			return nil, &UsageError{Reason: fmt.Sprintf("tune does not set %q: %s", id, s.NotTuned)}
		default:
			return nil, &UsageError{Reason: fmt.Sprintf("tune does not set %q; use %s", id, strings.Join(IDs(), ", "))}
		}
	}
	return slices.DeleteFunc(knobs(), func(k knob) bool { return len(only) > 0 && !slices.Contains(only, k.ID) }), nil
}

// Plan reports what Apply would change. It changes nothing and needs no journal. Applying a knob can affect the
// next one, so Apply can differ from the plan.
func Plan(ctx context.Context, o Options) (Report, error) {
	selected, err := selectKnobs(o.Only)
	if err != nil {
		return Report{}, err
	}
	v, err := examine(ctx, o)
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
