package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"judged/internal/api"
	"judged/internal/lab/bench"
	"judged/internal/sandbox"
)

// calibrated are the programs whose time is set by their argument.
var calibrated = map[string]string{"cpu-bound": "spin.c", "memory-bound": "walk.c"}

// subject is a calibrated program.
type subject struct {
	kind   string
	binary sandbox.File
	calibration
	own float64 // of the limit, taken by what was calibrated to it, when it was last weighed
}

func (l *lab) subjects(d dose) ([]*subject, error) {
	var all []*subject
	for _, kind := range d.kinds {
		binary, err := l.compile(calibrated[kind])
		if err != nil {
			return nil, err
		}
		c, err := l.calibrate(kind, binary, d.limit)
		if err != nil {
			return nil, err
		}
		s := &subject{kind: kind, binary: binary, calibration: c}
		if err := l.weigh(s, d.limit); err != nil {
			return nil, err
		}
		if err := l.sharpen(s, d.limit); err != nil {
			return nil, err
		}
		l.note("%s: %s %d takes the limit of %s in the slot with idle neighbours, to begin with.", kind, binary.Name,
			s.units(float64(d.limit)), d.limit)
		all = append(all, s)
	}
	return all, nil
}

// calibration is a program's time: base and so much for every unit of its
// argument, in nanoseconds.
type calibration struct{ base, unit float64 }

func (c calibration) units(ns float64) int { return max(1, int((ns-c.base)/c.unit+0.5)) }

// scaled is the calibration of a program that takes so many times as long.
func (c calibration) scaled(by float64) calibration { return calibration{c.base * by, c.unit * by} }

// calibrate finds it in the slot with idle neighbours: two lengths on both
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
		return calibration{}, fmt.Errorf("calibrate %s: %d units take %.1f ms and %d take %.1f ms; this host is too "+
			"busy, try again", kind, short, a/1e6, long, b/1e6)
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
	p, _ := l.site.Placement(bench.Slot) // every engine has one
	task, err := program(binary, strconv.Itoa(units))
	if err != nil {
		return 0, err
	}
	r, err := l.site.Once(l.ctx, p, task)
	if err != nil {
		return 0, err
	}
	if r.Verdict != api.Accepted {
		return 0, fmt.Errorf("calibrate %s: verdict %s; only AC can be", kind, r.Verdict)
	}
	return r.Runs[0].CPUTime, nil
}

func middle(xs []float64) float64 {
	slices.Sort(xs)
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}

// weigh measures what the program takes of the limit, alone in the slot, where
// it was calibrated to take all of it.
func (l *lab) weigh(s *subject, limit time.Duration) error {
	const runs = 5
	var times []float64
	for range runs {
		t, err := l.timeOf(s.kind, s.binary, s.units(float64(limit)))
		if err != nil {
			return err
		}
		times = append(times, float64(t))
	}
	s.own = middle(times) / float64(limit)
	return nil
}

// exact is how far from the limit a program may be that is said to take it.
const exact = 0.01

// sharpen corrects the subject's calibration until it is exact.
func (l *lab) sharpen(s *subject, limit time.Duration) error {
	return sharpened(s, func() error { return l.weigh(s, limit) })
}

// sharpened corrects and weighs in turns. On a shared host others come and go,
// and the truth itself moves: there is an end to trying.
func sharpened(s *subject, weigh func() error) error {
	const tries = 6
	for n := 0; n < tries && math.Abs(s.own-1) > exact; n++ {
		s.calibration = s.scaled(s.own)
		if err := weigh(); err != nil {
			return err
		}
	}
	return nil
}
