package tune

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/proc"
	"judged/internal/host/settings"
)

// Options say which host, for which CPUs, and where the journal is.
type Options struct {
	FS      hostfs.FS
	Journal string     // file; "" for a captured host, which has none
	CPUs    cpuset.Set // the reserved CPUs; empty: the isolated ones, else the last one
	Width   int        // CPUs of one slot; 0 is 1
	Only    []string   // ids of settings; empty is all
	// Quiet leaves out what would interrupt a CPU that may be judging, and threads, of which there are thousands: the
	// daemon compares every minute.
	Quiet bool
}

// UsageError says that a request makes no sense on this machine; nothing was done.
type UsageError = settings.UsageError

// view is the host as a knob sees it.
type view struct {
	settings.Host
	mount string // of cgroup v2 with cpuset, or ""
}

// examine reads the host again each time: applying one knob changes what the next one sees.
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

// change is a value that a knob wants to be another.
type change struct {
	entry
	from      string
	name      string // of a thread
	mayRefuse bool   // a refusal of the kernel is no failure
	// witness: tune does not write it, the kernel does as a consequence of what tune writes.
	witness bool
}

// proposal is what a knob wants on one host.
type proposal struct {
	changes []change
	stays   []Value       // what cannot be changed, each with its reason
	right   int           // values that are as wanted
	threads []proc.Thread // all of the host, where threads are moved
	skip    string        // why there is nothing at all
}

// propose returns what a knob wants.
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

// selectKnobs returns the knobs with the given ids; all if there are none.
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

// Plan says what Apply would change. It changes nothing and needs no journal. It is a forecast: applying one knob can
// change what the next one finds.
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
