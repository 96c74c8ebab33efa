package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"judged/internal/job"
	"judged/internal/sandbox"
	"judged/internal/trial"
)

// calibrated are the programs whose time is set by their argument.
var calibrated = map[string]string{"cpu-bound": "spin.c", "memory-bound": "walk.c"}

// subject is a calibrated program.
type subject struct {
	kind   string
	binary sandbox.File
	calibration
}

func (l *lab) subjects(d dose) ([]subject, error) {
	var all []subject
	for _, kind := range d.kinds {
		binary, err := l.compile(calibrated[kind])
		if err != nil {
			return nil, err
		}
		c, err := l.calibrate(kind, binary, d.limit)
		if err != nil {
			return nil, err
		}
		l.note("%s: %s %d takes the limit of %s in the slot with nothing beside it.", kind, binary.Name, c.units(float64(d.limit)), d.limit)
		all = append(all, subject{kind, binary, c})
	}
	return all, nil
}

// calibration is a program's time: base and so much for every unit of its
// argument, in nanoseconds.
type calibration struct{ base, unit float64 }

func (c calibration) units(ns float64) int { return max(1, int((ns-c.base)/c.unit+0.5)) }

// calibrate finds it in the slot with nothing beside it: two lengths on both
// sides of the limit, in turns, the median of each.
func (l *lab) calibrate(kind string, binary sandbox.File, limit time.Duration) (calibration, error) {
	const rounds = 9
	n, err := l.firstGuess(kind, binary, limit)
	if err != nil {
		return calibration{}, err
	}
	short, long := max(1, n*8/10), n*12/10+1
	times := map[int][]float64{}
	for range rounds {
		for _, n := range []int{short, long} {
			t, err := l.timeOf(kind, binary, n)
			if err != nil {
				return calibration{}, err
			}
			times[n] = append(times[n], float64(t))
		}
	}
	a, b := middle(times[short]), middle(times[long])
	unit := (b - a) / float64(long-short)
	if unit <= 0 {
		return calibration{}, fmt.Errorf("calibrate %s: %d units take %.1f ms and %d take %.1f ms; this host is too busy, try again", kind, short, a/1e6, long, b/1e6)
	}
	return calibration{base: a - unit*float64(short), unit: unit}, nil
}

// firstGuess is about how many units take as long as the limit.
func (l *lab) firstGuess(kind string, binary sandbox.File, limit time.Duration) (int, error) {
	n := 1000
	for {
		t, err := l.timeOf(kind, binary, n)
		if err != nil {
			return 0, err
		}
		if t >= limit/2 {
			return max(1, int(float64(n)*float64(limit)/float64(t))), nil
		}
		// What a program takes without any units hides how long they take,
		// so small steps while that is most of it.
		n = int(float64(n) * min(10, max(2, float64(limit)/float64(t))))
	}
}

func (l *lab) timeOf(kind string, binary sandbox.File, units int) (time.Duration, error) {
	l.Seen(0, 0, "calibrating "+kind)
	p, _ := l.site.Placement(trial.Slot) // every court has one
	task, err := program(binary, strconv.Itoa(units))
	if err != nil {
		return 0, err
	}
	r, err := l.site.Once(l.ctx, p, task)
	if err != nil {
		return 0, err
	}
	if r.Verdict != job.Accepted {
		return 0, fmt.Errorf("calibrate %s: verdict %s; only AC can be", kind, r.Verdict)
	}
	return r.Runs[0].CPUTime, nil
}

func middle(xs []float64) float64 {
	slices.Sort(xs)
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}

// ownTimes are what the subjects take, alone in the slot, of the limit that
// they were calibrated to. On a shared host others come and go, and the truth
// itself moves.
func (l *lab) ownTimes(subjects []subject, limit time.Duration) ([]float64, error) {
	const rounds = 5
	var all []float64
	for _, s := range subjects {
		var times []float64
		for range rounds {
			t, err := l.timeOf(s.kind, s.binary, s.units(float64(limit)))
			if err != nil {
				return nil, err
			}
			times = append(times, float64(t))
		}
		all = append(all, middle(times)/float64(limit))
	}
	return all, nil
}
