package tune

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"judged/internal/base/text"
	"judged/internal/host/hostfs"
)

var (
	digits     = text.Pattern(`^[0-9]+$`)
	threadPath = text.Pattern(`^/proc/[0-9]+(/task/[0-9]+)?$`)
)

func validThread(_ *view, e entry) bool {
	return e.Kind == affinity && threadPath().MatchString(e.Path) && digits().MatchString(e.Start)
}

// moveThreads moves all threads off the reserved CPUs, except judged and its descendants.
func (v *view) moveThreads(setting string, kernel bool) proposal {
	var p proposal
	var err error
	if p.threads, err = hostfs.Threads(context.Background(), v.FS); err != nil {
		return proposal{stays: []Value{{Path: "/proc", State: Stays, Reason: err.Error()}}}
	}
	reserved, seen := v.Reserved.Intersect(v.Topology.Online), false
	for _, t := range p.threads {
		seen = seen || t.Kernel()
		switch {
		case t.Kernel() != kernel || t.Ours:
		case !t.Allowed.Overlaps(reserved):
			p.right++
		case whyFixed(t) != "":
			p.stays = append(p.stays, Value{Path: t.Dir, Name: t.Name, State: Stays, From: t.Allowed.String(),
				Reason: whyFixed(t)})
		default:
			e := entry{Setting: setting, Kind: affinity, Path: t.Dir, Start: t.Start, Old: t.Allowed.String(),
				Ours: []string{v.Others(t.Allowed).String()}}
			p.changes = append(p.changes, change{entry: e, from: e.Old, name: t.Name, mayRefuse: true})
		}
	}
	if kernel && !seen {
		p.skip = "no kernel thread is visible: a PID namespace or hidepid hides the host's"
	}
	return p
}

// whyFixed returns why a thread cannot be moved; "" if it can.
func whyFixed(t hostfs.Thread) string {
	base, number, slash := strings.Cut(t.Name, "/")
	switch {
	case !t.Kernel():
		return ""
	case base == "kworker" && strings.HasPrefix(number, "u"), base == "kworker" && strings.HasPrefix(number, "R"):
		return "follows the mask of unbound workers, which wq-unbound sets"
	case base == "irq" && slash:
		return "follows its interrupt, which irq-affinity sets"
	case t.Fixed() && len(t.Allowed) == 1:
		return "belongs to its CPU: each CPU needs one"
	case t.Fixed():
		return "the kernel refuses to move it (PF_NO_SETAFFINITY); it wakes only when memory is short or a CPU changes"
	}
	return ""
}

// readAffinity reports a thread as missing if another thread reuses its ID.
func readAffinity(h hostfs.FS, e entry) (string, error) {
	t, err := hostfs.ReadThread(h, e.Path)
	switch {
	case errors.Is(err, syscall.ESRCH), err == nil && t.Start != e.Start:
		return "", &fs.PathError{Op: "read", Path: e.Path, Err: fs.ErrNotExist}
	case err != nil:
		return "", err
	}
	return t.Allowed.String(), nil
}
