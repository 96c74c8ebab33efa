package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"judged/internal/host/proc"
)

// Counts are what the kernel has counted from boot to one look. The difference of two is what happened in between.
type Counts struct {
	uptime      time.Duration  // 0 if unknown
	stat        string         // /proc/stat
	interrupts  string         // /proc/interrupts
	switches    map[int]uint64 // how often each thread gave up a CPU, by its id; it has run if the count grew
	throttles   int
	errors      uint64
	smis        uint64
	smisCounted bool
}

// window is the time between two looks; nil after a single look.
type window struct {
	before Counts
	length time.Duration
}

// since is the window that ends with this look; nil for looks of two boots, or without a clock.
func (c Counts) since(before *Counts) *window {
	if before == nil || before.uptime == 0 || c.uptime <= before.uptime {
		return nil
	}
	return &window{before: *before, length: c.uptime - before.uptime}
}

func (w *window) String() string { return fmt.Sprintf("in the last %.0f s", w.length.Seconds()) }

// first takes a first look, if a second one can find anything new.
func (o Options) first(ctx context.Context) (*Counts, error) {
	if o.Before != nil || o.Window <= 0 || !o.FS.Live() {
		return o.Before, nil
	}
	f, err := look(ctx, o)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(o.Window):
		return &f.counts, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("examine host: %w", context.Cause(ctx))
	}
}

// count keeps what a later look compares with.
func (f facts) count() Counts {
	c := Counts{uptime: uptime(f.Optional("/proc/uptime")), stat: f.Optional("/proc/stat"),
		interrupts: f.Optional("/proc/interrupts"),
		switches:   map[int]uint64{}}
	for _, t := range f.tasks {
		c.switches[t.TID] = t.Switches
	}
	c.throttles, _, _ = (&view{facts: f}).throttles()
	errors, _ := (&view{facts: f}).hardwareErrors()
	c.errors = total(errors)
	if v := (&view{facts: f}); f.class.hypervisor == "" {
		c.smis = v.smis()
		c.smisCounted = v.refused == nil
	}
	return c
}

// uptime reads the first number of /proc/uptime.
func uptime(text string) time.Duration {
	first, _, _ := strings.Cut(text, " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil || seconds < 0 || seconds > 1e9 {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// ran reports whether a thread has run since the window began.
func (w *window) ran(t proc.Thread) bool {
	before, known := w.before.switches[t.TID]
	return !known || t.Switches != before
}
