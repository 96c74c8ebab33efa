package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/doctor"
	"judged/internal/host/slots"
	"judged/internal/lab/bench"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
)

// medians are the times of kernels, by kernel and then by slot or by what runs next to it.
type medians map[string]map[string]time.Duration

// canary compares the slots with each other, and with another host of the pool.
func (p *prober) canary(ctx context.Context) (doctor.Outcome, error) {
	lonely := skip("there is one slot, and no times of another host of the pool: nothing to compare it with")
	if len(p.slots) < 2 && p.o.Pool == nil && !p.o.Times {
		return lonely, nil
	}
	times := map[string]map[string][]time.Duration{}
	// The slots take turns in each round, so that a machine that gets warmer affects all slots. The first round warms
	// the caches of files and pages.
	for round := range p.o.Rounds + 1 {
		for _, s := range p.slots {
			for _, kernel := range p.o.Own {
				p.seen("%s on CPU %s, round %d of %d", kernel, s.CPUs, round, p.o.Rounds)
				r, err := p.kernels.Read(ctx, p.eng.Worker(s), kernel)
				if err != nil {
					return doctor.Outcome{}, err
				}
				if round > 0 {
					add(times, kernel, s.CPUs.String(), r.CPUTime)
				}
			}
		}
	}
	p.times = &api.KernelTimes{Program: p.kernels.Digest(), CPUTime: overAll(times)}
	m, bounds := middles(times), api.TimeBoundsOf(p.eng.Virtual())
	var all []doctor.Outcome
	if len(p.slots) > 1 {
		all = append(all, judgeSlots(m, bounds))
	}
	if p.o.Pool != nil {
		all = append(all, judgePool(m, p.o.Pool, p.kernels.Digest(), bounds))
	}
	if len(all) == 0 {
		return lonely, nil
	}
	return both(all), nil
}

// overAll returns the medians over all places.
func overAll(times map[string]map[string][]time.Duration) map[string]time.Duration {
	all := map[string]map[string][]time.Duration{}
	for kernel, places := range times {
		for _, some := range places {
			for _, t := range some {
				add(all, kernel, "", t)
			}
		}
	}
	m := map[string]time.Duration{}
	for kernel, places := range middles(all) {
		m[kernel] = places[""]
	}
	return m
}

// judge compares a ratio with the bounds.
func judge(b api.TimeBounds, found string, apart float64, reason string) doctor.Outcome {
	switch {
	case apart > b.Fail:
		return doctor.Outcome{Status: api.DoctorFail, Found: found, Reason: reason}
	case apart > b.Warn:
		return doctor.Outcome{Status: api.DoctorWarn, Found: found, Reason: reason}
	}
	return doctor.Outcome{Status: api.DoctorPass, Found: found}
}

// both returns the worst of the outcomes, with the findings of all.
func both(all []doctor.Outcome) doctor.Outcome {
	o := worst(all)
	var found []string
	for _, one := range all {
		if one.Found != "" {
			found = append(found, one.Found)
		}
	}
	o.Found = strings.Join(found, "; ")
	return o
}

// judgePool judges the kernel and the slot that are farthest from the pool's time.
func judgePool(m medians, pool *api.KernelTimes, program string, b api.TimeBounds) doctor.Outcome {
	if pool.Program != program {
		return doctor.Outcome{Status: api.DoctorUnknown,
			Reason: "the pool's times are of another version of judged: make its file again with this one"}
	}
	var texts []string
	most, which := -1.0, ""
	for _, kernel := range slices.Sorted(maps.Keys(m)) {
		if pool.CPUTime[kernel] == 0 {
			continue
		}
		farthest := 0.0
		for _, where := range slices.Sorted(maps.Keys(m[kernel])) {
			apart := float64(m[kernel][where])/float64(pool.CPUTime[kernel]) - 1
			if math.Abs(apart) >= math.Abs(farthest) {
				farthest = apart
			}
			if math.Abs(apart) > most {
				most, which = math.Abs(apart), fmt.Sprintf("%s takes %+.2f %% on CPU %s against the pool", kernel,
					100*apart, where)
			}
		}
		texts = append(texts, fmt.Sprintf("%s %+.2f %%", kernel, 100*farthest))
	}
	if len(texts) == 0 {
		return doctor.Outcome{Status: api.DoctorUnknown,
			Reason: "the pool's file has no times of these kernels: make it again with judged doctor --fingerprint " +
				"--probe=probe-canary"}
	}
	return judge(b, "against the pool "+strings.Join(texts, ", "), most, which)
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

// judgeSlots judges the kernel whose times differ most between slots.
func judgeSlots(m medians, b api.TimeBounds) doctor.Outcome {
	var texts []string
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
		texts = append(texts, fmt.Sprintf("%s %.2f %%", kernel, 100*apart))
		if apart > most {
			most, which = apart, fmt.Sprintf("%s takes %.2f %% longer on CPU %s than on %s", kernel, 100*apart, slow,
				fast)
		}
	}
	return judge(b, "apart by "+strings.Join(texts, ", "), most, which)
}

const (
	alone  = "alone"
	loaded = "loaded"
)

// neighbour measures each slot alone and while all others copy memory.
func (p *prober) neighbour(ctx context.Context) (o doctor.Outcome, err error) {
	if len(p.slots) < 2 {
		return skip("there is one slot: no run ever has another next to it"), nil
	}
	loads, err := bench.OpenLoads(p.eng)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, loads.Close()) }()
	var all []doctor.Outcome
	for i, s := range p.slots {
		m, err := p.nextToOthers(ctx, loads, s, slices.Delete(slices.Clone(p.slots), i, i+1))
		if err != nil {
			return o, err
		}
		one := judgeNeighbours(m, p.bound(s))
		one.Found = fmt.Sprintf("CPU %s: %s", s.CPUs, one.Found)
		all = append(all, one)
	}
	return summed(all), nil
}

// nextToOthers reads the kernels on a slot, first alone.
func (p *prober) nextToOthers(ctx context.Context, loads *bench.Loads, s slots.Slot, others []slots.Slot,
) (medians, error) {
	times := map[string]map[string][]time.Duration{}
	read := func(how string) error {
		for round := range p.o.Rounds + 1 {
			for _, kernel := range p.o.Shared {
				p.seen("%s on CPU %s, %s, round %d of %d", kernel, s.CPUs, how, round, p.o.Rounds)
				r, err := p.kernels.Read(ctx, p.eng.Worker(s), kernel)
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
	if err := read(alone); err != nil {
		return nil, err
	}
	var all []sandbox.Resources
	for _, other := range others {
		for _, id := range other.CPUs {
			one, err := p.eng.UnplannedSlot(cpuset.New(id), cpuset.New(other.Node))
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}
	crowd, err := loads.Start(ctx, all, initproc.LoadMemory)
	if err != nil {
		return nil, err
	}
	err = errors.Join(read(loaded), crowd.Stop())
	return middles(times), err
}

// bound returns how much others may slow down a run of the slot.
func (p *prober) bound(s slots.Slot) float64 {
	if p.eng.Virtual() || len(s.Cache) == 0 {
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
	var texts []string
	most := 0.0
	for _, kernel := range slices.Sorted(maps.Keys(m)) {
		slower := float64(m[kernel][loaded])/float64(m[kernel][alone]) - 1
		texts = append(texts, fmt.Sprintf("%s %+.1f %%", kernel, 100*slower))
		most = max(most, slower)
	}
	o := doctor.Outcome{Status: api.DoctorPass, Found: strings.Join(texts, ", ") + " next to all other slots"}
	if most > bound {
		o.Status, o.Reason = api.DoctorWarn, fmt.Sprintf(
			"more than %.0f %%: plan fewer slots, or limits with that much room", 100*bound)
	}
	return o
}
