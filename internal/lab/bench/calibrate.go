package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"judged/internal/api"
	"judged/internal/sandbox"
)

// calibrated are the programs whose time depends on their argument.
var calibrated = map[string]string{"cpu-bound": "spin.c", "memory-bound": "walk.c"}

// subject is a calibrated program.
type subject struct {
	kind   string
	binary sandbox.File
	calibration
	own float64 // own time as a fraction of the limit to which it was calibrated, when last measured
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

// calibration models a program's time: base plus unit for every unit of its argument, in nanoseconds.
type calibration struct{ base, unit float64 }

func (c calibration) units(ns float64) int { return max(1, int((ns-c.base)/c.unit+0.5)) }

// scaled returns the calibration of a program that takes by times as long.
func (c calibration) scaled(by float64) calibration { return calibration{c.base * by, c.unit * by} }

// calibrate measures the calibration in the slot with idle neighbours: two lengths on both sides of the limit, in
// turns, with the median of each.
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

// firstGuess returns roughly how many units take as long as the limit.
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
		// The time that a program takes without any units hides how long a unit takes, so the steps are small while it
		// dominates.
		n = int(float64(n) * min(10, max(2, float64(limit)/float64(t))))
	}
}

func (l *lab) timeOf(kind string, binary sandbox.File, units int) (time.Duration, error) {
	l.Seen(0, 0, "calibrating "+kind)
	p, _ := l.site.Placement(Slot) // every engine has one
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

// weigh measures which fraction of the limit the program takes alone in the slot, after it was calibrated to the limit.
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

// exact is how far from the limit a program may be to count as calibrated to it.
const exact = 0.01

// sharpen corrects the subject's calibration until it is exact.
func (l *lab) sharpen(s *subject, limit time.Duration) error {
	return sharpened(s, func() error { return l.weigh(s, limit) })
}

// sharpened alternately corrects and measures. On a shared host other programs come and go, and the true time itself
// changes, so the number of tries is limited.
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
