package probe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"judged/internal/cpuset"
	"judged/internal/doctor"
	"judged/internal/sandbox"
	"judged/internal/slots"
	"judged/internal/stage"
	"judged/internal/trial"
)

// medians are a kernel's times, by kernel and then by slot or by what is beside it.
type medians map[string]map[string]time.Duration

// canary compares the slots with each other.
func (p *prober) canary(ctx context.Context) (doctor.Outcome, error) {
	if len(p.slots) < 2 {
		return skip("there is one slot: nothing to compare it with"), nil
	}
	times := map[string]map[string][]time.Duration{}
	// Round by round, so that a machine that gets warmer does so to all slots. The first round is for
	// caches of files and pages.
	for round := range p.o.Rounds + 1 {
		for _, s := range p.slots {
			for _, kernel := range p.o.Own {
				p.seen("%s on CPU %s, round %d of %d", kernel, s.CPUs, round, p.o.Rounds)
				r, err := p.kernels.Read(ctx, p.court.Stand(s), kernel)
				if err != nil {
					return doctor.Outcome{}, err
				}
				if round > 0 {
					add(times, kernel, s.CPUs.String(), r.CPUTime)
				}
			}
		}
	}
	return judgeSlots(middles(times), p.court.Virtual()), nil
}

func add(times map[string]map[string][]time.Duration, kernel, where string, t time.Duration) {
	if times[kernel] == nil {
		times[kernel] = map[string][]time.Duration{}
	}
	times[kernel][where] = append(times[kernel][where], t)
}

func middles(times map[string]map[string][]time.Duration) medians {
	m := medians{}
	for kernel, places := range times {
		m[kernel] = map[string]time.Duration{}
		for where, all := range places {
			slices.Sort(all)
			m[kernel][where] = all[len(all)/2]
		}
	}
	return m
}

// judgeSlots takes the kernel by which slots differ most.
func judgeSlots(m medians, virtual bool) doctor.Outcome {
	warnFrom, failFrom := 0.003, 0.01
	if virtual {
		warnFrom, failFrom = 0.02, 0.05
	}
	var told []string
	most, which := -1.0, ""
	for _, kernel := range slices.Sorted(maps.Keys(m)) {
		fast, slow := "", ""
		for _, where := range slices.Sorted(maps.Keys(m[kernel])) {
			if fast == "" || m[kernel][where] < m[kernel][fast] {
				fast = where
			}
			if slow == "" || m[kernel][where] > m[kernel][slow] {
				slow = where
			}
		}
		apart := float64(m[kernel][slow])/float64(m[kernel][fast]) - 1
		told = append(told, fmt.Sprintf("%s %.2f %%", kernel, 100*apart))
		if apart > most {
			most, which = apart, fmt.Sprintf("%s takes %.2f %% longer on CPU %s than on %s", kernel, 100*apart, slow, fast)
		}
	}
	o := doctor.Outcome{Status: doctor.Pass, Found: "apart by " + strings.Join(told, ", ")}
	switch {
	case most > failFrom:
		o.Status, o.Reason = doctor.Fail, which
	case most > warnFrom:
		o.Status, o.Reason = doctor.Warn, which
	}
	return o
}

const (
	alone  = "alone"
	beside = "beside"
)

// neighbour measures each slot alone and while all others copy memory.
func (p *prober) neighbour(ctx context.Context) (o doctor.Outcome, err error) {
	if len(p.slots) < 2 {
		return skip("there is one slot: no run is ever beside another"), nil
	}
	loads, err := trial.OpenLoads(p.court)
	if err != nil {
		return o, err
	}
	defer func() { err = joined(err, loads.Close()) }()
	var all []doctor.Outcome
	for i, s := range p.slots {
		m, err := p.besideOthers(ctx, loads, s, slices.Delete(slices.Clone(p.slots), i, i+1))
		if err != nil {
			return o, err
		}
		one := judgeNeighbours(m, p.bound(s))
		one.Found = fmt.Sprintf("CPU %s: %s", s.CPUs, one.Found)
		all = append(all, one)
	}
	return summed(all), nil
}

func joined(err, other error) error {
	if err == nil {
		return other
	}
	return err
}

// besideOthers reads the kernels on a slot, first alone.
func (p *prober) besideOthers(ctx context.Context, loads *trial.Loads, s slots.Slot, others []slots.Slot) (medians, error) {
	times := map[string]map[string][]time.Duration{}
	read := func(how string) func(context.Context) error {
		return func(ctx context.Context) error {
			for round := range p.o.Rounds + 1 {
				for _, kernel := range p.o.Shared {
					p.seen("%s on CPU %s, %s, round %d of %d", kernel, s.CPUs, how, round, p.o.Rounds)
					r, err := p.kernels.Read(ctx, p.court.Stand(s), kernel)
					if err != nil {
						return err
					}
					if round > 0 {
						add(times, kernel, how, r.CPUTime)
					}
				}
			}
			return nil
		}
	}
	if err := read(alone)(ctx); err != nil {
		return nil, err
	}
	var grounds []sandbox.Slot
	for _, other := range others {
		for _, id := range other.CPUs {
			ground, err := p.court.Ground(cpuset.New(id), cpuset.New(other.Node))
			if err != nil {
				return nil, err
			}
			grounds = append(grounds, ground)
		}
	}
	err := loads.Beside(ctx, grounds, stage.LoadMemory, read(beside))
	return middles(times), err
}

// bound is what others may cost a run of the slot.
func (p *prober) bound(s slots.Slot) float64 {
	if p.court.Virtual() || len(s.Cache) == 0 {
		return 0.10
	}
	for _, other := range p.slots {
		if other.CPUs.String() != s.CPUs.String() && s.Cache.Overlaps(other.CPUs) {
			return 0.10
		}
	}
	return 0.01
}

func judgeNeighbours(m medians, bound float64) doctor.Outcome {
	var told []string
	most := 0.0
	for _, kernel := range slices.Sorted(maps.Keys(m)) {
		slower := float64(m[kernel][beside])/float64(m[kernel][alone]) - 1
		told = append(told, fmt.Sprintf("%s %+.1f %%", kernel, 100*slower))
		most = max(most, slower)
	}
	o := doctor.Outcome{Status: doctor.Pass, Found: strings.Join(told, ", ") + " beside all other slots"}
	if most > bound {
		o.Status, o.Reason = doctor.Warn, fmt.Sprintf("more than %.0f %%: plan fewer slots, or limits with that much room", 100*bound)
	}
	return o
}
