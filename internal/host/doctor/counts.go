package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Counts are what the kernel has counted from boot to one look. Two of them tell what happened in
// between, which is what most checks of counts would rather know.
type Counts struct {
	uptime      time.Duration  // 0 if the kernel does not tell it
	stat        string         // /proc/stat
	interrupts  string         // /proc/interrupts
	switches    map[int]uint64 // how often each thread gave up a CPU, by its id: whose count grew has run
	throttles   int
	faults      uint64
	smis        uint64
	smisCounted bool
}

// window is what lies between two looks; nil stands for a host that was looked at once.
type window struct {
	before Counts
	length time.Duration
}

// since is the window that ends with this look. Looks of two boots, or without a clock, make none.
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

// count keeps what a later look is compared with.
func (f facts) count() Counts {
	c := Counts{uptime: uptime(f.optional("/proc/uptime")), stat: f.optional("/proc/stat"), interrupts: f.optional("/proc/interrupts"),
		switches: map[int]uint64{}}
	for _, t := range f.tasks {
		c.switches[t.tid] = t.switches
	}
	v := &view{facts: f}
	c.throttles, _, _, _ = v.throttles()
	faults, _, _ := v.faults()
	c.faults = total(faults)
	if n, o := v.smis(); o == nil {
		c.smis, c.smisCounted = n, true
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
func (w *window) ran(t task) bool {
	before, known := w.before.switches[t.tid]
	return !known || t.switches != before
}
