package slothealth

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"judged/internal/base/job"
	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/canary"
	"judged/internal/timing/stats"
)

// ward is what is known of one slot: by each kernel, and by the last runs of
// any program. It decides when the slot is read next and whether it may be used.
type ward struct {
	slot    slots.Slot
	kernels []string
	health  map[string]memory
	runs    history
	virtual bool // the host is: neighbours in its caches are nobody's fault here

	due     time.Time
	todo    []string // what is left of the set that is being read
	streak  int      // sets in a row that were read at once
	setting string   // of the host, when the slot was last looked at

	held string // why it is quarantined by its readings or runs; "" is not
	told bool   // that it would be, were it not the last one
}

// memory is what is kept of one kernel on one slot.
type memory struct {
	stats.Health
	Deviation float64 `json:"deviation_ratio"` // of the last reading
}

// mostAtOnce bounds how many sets are read back to back: twice what a baseline
// takes, since disturbed readings do not count. What is not settled then goes on
// at the ordinary pace.
func mostAtOnce() int { return 2 * stats.DefaultChart().Learn }

// quarantinePace is by how much oftener a slot out of use is read: it comes back
// after 20 good readings of the kernel that has moved.
const quarantinePace = 10

// take learns from a reading. One that was disturbed says nothing of the slot
// itself. It reports what the kernel's state was before and is now.
func (w *ward) take(r canary.Reading) (before, after memory) {
	before = w.health[r.Kernel]
	after = before
	disturbed := misled(r)
	w.runs.add(disturbed)
	if !disturbed {
		after.Health = stats.DefaultChart().Next(before.Health, r.CPUTime)
	}
	if after.Baseline.Center > 0 {
		after.Deviation = after.Baseline.Deviation(r.CPUTime)
	}
	w.health[r.Kernel] = after
	return before, after
}

// misled reports whether a reading was disturbed. Busy neighbours disturb the kernels
// that share something with them, and no others.
func misled(r canary.Reading) bool {
	return slices.ContainsFunc(r.Run.Disturbed, func(c job.Cause) bool {
		return c != job.CauseNeighbours || slices.Contains(canary.Shared(), r.Kernel)
	})
}

// external reports whether a run of a contestant's program was disturbed by what no program
// can produce: nothing else may take a slot out of use. Neighbours are not the slot's fault.
func external(r job.Run) bool {
	return len(r.Explained.Except(job.CauseNeighbours, job.CauseCanary).Causes) > 0
}

// forget starts anew.
func (w *ward) forget() {
	w.health = map[string]memory{}
	w.runs = history{}
	w.held, w.todo = "", nil
	w.streak, w.due = 0, time.Now()
}

// next is the kernels of the next set. Suspicions first, and alone: they are to
// be settled at once.
func (w *ward) next() []string {
	for _, state := range []stats.State{stats.Suspect, stats.Learning} {
		if some := w.in(state); len(some) > 0 {
			return some
		}
	}
	return slices.Clone(w.kernels)
}

func (w *ward) in(state stats.State) []string {
	var some []string
	for _, k := range w.kernels {
		if s := w.health[k].State; s == state || s == "" && state == stats.Learning {
			some = append(some, k)
		}
	}
	return some
}

// schedule says when the next set is due after one that ended now.
func (w *ward) schedule(now time.Time, interval time.Duration) {
	unsettled := len(w.in(stats.Suspect))+len(w.in(stats.Learning)) > 0
	if !unsettled {
		w.streak = 0
	}
	switch {
	case unsettled && w.streak < mostAtOnce():
		w.streak++
		w.due = now
	case w.held != "":
		w.due = now.Add(interval / quarantinePace)
	default:
		w.due = now.Add(interval)
	}
}

// trouble says why the slot must not be used, or "".
func (w *ward) trouble() string {
	return cmp.Or(w.shifted(), w.runs.trouble(w.held != ""))
}

// shifted is trouble by canaries. Slower is damage; faster is that only of plain
// arithmetic, everything else may have lost a neighbour.
func (w *ward) shifted() string {
	for _, k := range w.kernels {
		m := w.health[k]
		switch {
		case m.State != stats.Shifted || w.excused(k):
		case m.Shift == stats.Slower:
			return fmt.Sprintf("canary %s is %.1f %% slower than its baseline", k, 100*m.Deviation)
		case k == initproc.KernelALU:
			return fmt.Sprintf("canary %s is %.1f %% faster than its baseline: turbo is on", k, -100*m.Deviation)
		}
	}
	return ""
}

// excused reports whether a kernel says nothing against a slot: short ones are
// for single runs, and those of caches and memory measure on a virtual machine
// what others do there.
func (w *ward) excused(kernel string) bool {
	return slices.Contains(initproc.ShortKernels(), kernel) || w.virtual && slices.Contains(canary.Shared(), kernel)
}

// deviation is that of the last reading, nil while there is nothing to compare
// it with.
func (m memory) deviation() *float64 {
	if m.Baseline.Center == 0 {
		return nil
	}
	return &m.Deviation
}

// history is which of the last runs on a slot were disturbed, the latest last.
type history struct{ disturbed []bool }

const (
	historyRuns = 50
	tooMany     = historyRuns / 5 // more than these of them disturbed are no accident
	cleanAgain  = 20              // undisturbed runs in a row that bring a slot back
)

func (h *history) add(disturbed bool) {
	h.disturbed = append(h.disturbed, disturbed)
	h.disturbed = h.disturbed[max(0, len(h.disturbed)-historyRuns):]
}

// trouble says what is wrong with the runs, or "". A slot that is held already
// stays so until a row of runs was left alone.
func (h history) trouble(held bool) string {
	n := 0
	for _, d := range h.disturbed {
		if d {
			n++
		}
	}
	last := h.disturbed[max(0, len(h.disturbed)-cleanAgain):]
	clean := len(last) == cleanAgain && !slices.Contains(last, true)
	if n > tooMany && !(held && clean) {
		return fmt.Sprintf("%d of its last %d runs were disturbed", n, len(h.disturbed))
	}
	return ""
}
