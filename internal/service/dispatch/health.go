package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/stats"
)

// slotHealth is the health of one slot: the state of each reference kernel, and the last runs of any program. It
// decides whether the slot may be used, and when its canaries are read next.
type slotHealth struct {
	slot    slots.Slot
	kernels []string
	health  map[string]kernelHealth
	points  map[string][]ChartPoint // of the charts, by kernel
	unsaved map[string]int          // number of those points that are not stored, by kernel
	runs    history
	virtual bool // the host is a virtual machine

	due      time.Time // time of the next set of readings
	pending  []string  // rest of the set that is being read
	streak   int       // number of sets read back to back
	settings string    // of the host, when they were last checked

	quarantine string // reason why the slot is quarantined, or ""
	warned     bool   // whether a warning was logged that it is in use only because it is the last one
}

// kernelHealth is the state of one kernel on one slot. It is stored as JSON.
type kernelHealth struct {
	stats.Health
	Deviation float64 `json:"deviation_ratio"` // of the last reading
}

// maxStreak returns how many sets are read back to back: twice the number that a baseline needs, since disturbed
// readings do not count. After that, unsettled kernels are read at the normal pace.
func maxStreak() int { return 2 * stats.DefaultChart().Learn }

// quarantinePace is how many times as often a quarantined slot is read: it returns to use after 20 good readings of the
// kernel that has shifted.
const quarantinePace = 10

// add adds a reading, and returns the state of its kernel before and after. A disturbed reading does not change the
// state of the slot itself.
func (s *slotHealth) add(r measure.Reading) (before, after kernelHealth) {
	before = s.health[r.Kernel]
	after = before
	disturbed := disturbedReading(r)
	s.runs.add(disturbed)
	if !disturbed {
		after.Health = stats.DefaultChart().Next(before.Health, r.CPUTime)
	}
	if after.learned() {
		after.Deviation = after.Baseline.Deviation(r.CPUTime)
	}
	s.health[r.Kernel] = after
	return before, after
}

// disturbedReading reports whether a reading was disturbed. Busy neighbours
// disturb only the kernels that share caches or memory with them.
func disturbedReading(r measure.Reading) bool {
	return slices.ContainsFunc(r.Run.Disturbed, func(c api.Cause) bool {
		return c != api.CauseNeighbours || slices.Contains(measure.SharedKernels(), r.Kernel)
	})
}

// disturbedRun reports whether a run of a contestant's program was disturbed by a cause that no program can produce: no
// other cause may take a slot out of use. Neighbours are not caused by the slot.
func disturbedRun(r api.Run) bool {
	return len(r.Explained.Except(api.CauseNeighbours, api.CauseCanary).Causes) > 0
}

// reset discards the state, so that baselines are learned again.
func (s *slotHealth) reset() {
	s.health = map[string]kernelHealth{}
	s.release()
	s.readNow()
}

// release ends a quarantine. The runs that led to it no longer count.
func (s *slotHealth) release() { s.quarantine, s.runs = "", history{} }

// readNow makes the next set due, with the full number of sets back to back.
func (s *slotHealth) readNow() { s.due, s.streak = time.Now(), 0 }

// nextSet returns the kernels of the next set. Suspect kernels come first and alone, so that they are confirmed or
// cleared immediately.
func (s *slotHealth) nextSet() []string {
	for _, state := range []stats.State{stats.Suspect, stats.Learning} {
		if some := s.in(state); len(some) > 0 {
			return some
		}
	}
	return slices.Clone(s.kernels)
}

// in returns the kernels in a state.
func (s *slotHealth) in(state stats.State) []string {
	var some []string
	for _, k := range s.kernels {
		if cmp.Or(s.health[k].State, stats.Learning) == state {
			some = append(some, k)
		}
	}
	return some
}

// schedule sets the time of the next set of readings, after a set that ended at now.
func (s *slotHealth) schedule(now time.Time, interval time.Duration) {
	unsettled := len(s.in(stats.Suspect))+len(s.in(stats.Learning)) > 0
	if !unsettled {
		s.streak = 0
	}
	switch {
	case unsettled && s.streak < maxStreak():
		s.streak++
		s.due = now
	case s.quarantine != "":
		s.due = now.Add(interval / quarantinePace)
	default:
		s.due = now.Add(interval)
	}
}

// trouble returns the reason why the slot must not be used, or "".
func (s *slotHealth) trouble() string {
	return cmp.Or(s.shifted(), s.runs.trouble(s.quarantine != ""))
}

// shifted returns which canary has left its baseline, or "". A slower kernel always counts. A faster one means turbo
// for plain arithmetic only; any other kernel may have lost a neighbour.
func (s *slotHealth) shifted() string {
	for _, k := range s.kernels {
		h := s.health[k]
		switch {
		case h.State != stats.Shifted || s.ignored(k):
		case h.Shift == stats.Slower:
			return fmt.Sprintf("canary %s is %.1f %% slower than its baseline", k, 100*h.Deviation)
		case k == initproc.KernelALU:
			return fmt.Sprintf("canary %s is %.1f %% faster than its baseline: turbo is on", k, -100*h.Deviation)
		}
	}
	return ""
}

// ignored reports whether a kernel does not count against a slot: the short kernels serve single runs, and on a virtual
// machine those in caches and memory measure what others do there.
func (s *slotHealth) ignored(kernel string) bool {
	return slices.Contains(initproc.ShortKernels(), kernel) || s.virtual && slices.Contains(measure.SharedKernels(), kernel)
}

// typical reports whether a kernel's readings vary like the times of a solution. Those of a shifted slot do not: it is
// out of use, or has a new neighbour.
func (s *slotHealth) typical(kernel string) bool {
	return slices.Contains(measure.NoiseKernels(s.virtual), kernel) && s.health[kernel].State != stats.Shifted
}

// learned reports whether there is a baseline.
func (h kernelHealth) learned() bool { return h.Baseline.Center > 0 }

// deviation returns the deviation of the last reading, or nil without a baseline.
func (h kernelHealth) deviation() *float64 {
	if !h.learned() {
		return nil
	}
	return &h.Deviation
}

// history records which of the last runs on a slot were disturbed, the latest last.
type history struct{ disturbed []bool }

const (
	historyRuns  = 50
	maxDisturbed = historyRuns / 5 // number of disturbed runs that is still accepted
	recoveryRuns = 20              // consecutive undisturbed runs that end a quarantine
)

func (h *history) add(disturbed bool) {
	h.disturbed = append(h.disturbed, disturbed)
	h.disturbed = h.disturbed[max(0, len(h.disturbed)-historyRuns):]
}

// trouble returns a message if too many runs were disturbed, or "". A quarantined slot stays quarantined until enough
// consecutive runs were undisturbed.
func (h history) trouble(quarantined bool) string {
	n := 0
	for _, d := range h.disturbed {
		if d {
			n++
		}
	}
	last := h.disturbed[max(0, len(h.disturbed)-recoveryRuns):]
	recovered := len(last) == recoveryRuns && !slices.Contains(last, true)
	if n > maxDisturbed && !(quarantined && recovered) {
		return fmt.Sprintf("%d of its last %d runs were disturbed", n, len(h.disturbed))
	}
	return ""
}
