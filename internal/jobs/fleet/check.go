package fleet

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"judged/internal/base/cpuset"
)

// Bounds of what a node says about itself. judged is far within them.
const (
	maxSlots     = 4096
	maxLanguages = 1024
	maxReason    = 64 << 10 // bytes
	maxLabel     = 256      // bytes
	maxCPUs      = 4 << 10  // bytes of a kernel list
	// maxDelay is the longest that a node keeps a job from all nodes.
	maxDelay = time.Hour
)

// Check returns why a node cannot be as it says, or nil.
func (g Registration) Check() error {
	if len(g.Slots) > maxSlots || len(g.Languages) > maxLanguages {
		return fmt.Errorf("%d slots and %d languages, want at most %d and %d", len(g.Slots), len(g.Languages), maxSlots,
			maxLanguages)
	}
	for _, s := range g.Slots {
		if err := checkCPUs(s.CPUs); err != nil {
			return err
		}
		if err := checkText("the state of a slot", s.State, maxLabel); err != nil {
			return err
		}
	}
	for _, l := range g.Languages {
		for _, text := range append([]string{l.ID, l.Name, l.Version}, l.Extensions...) {
			if err := checkText("a language", text, maxLabel); err != nil {
				return err
			}
		}
		if err := checkText("the reason of a language", l.Reason, maxReason); err != nil {
			return err
		}
	}
	if p := g.Prefetch; p != nil {
		if err := checkText("the error of a prefetch", p.Error, maxReason); err != nil {
			return err
		}
		if err := checkText("the id of a prefetch", p.ID, maxLabel); err != nil {
			return err
		}
	}
	if err := checkText("reason", g.Reason, maxReason); err != nil {
		return err
	}
	if err := checkText("version", g.Version, maxLabel); err != nil {
		return err
	}
	return checkText("fingerprint", g.Fingerprint, maxLabel)
}

// Check returns why no slot asks for this, or nil.
func (q TakeRequest) Check() error {
	if q.Width < 0 || q.Width > maxSlots {
		return fmt.Errorf("width %d, want 1 to %d", q.Width, maxSlots)
	}
	if err := checkText("key", q.Key, maxLabel); err != nil {
		return err
	}
	return checkCPUs(q.CPUs)
}

// Delay is how long no node takes the job. The error says why that cannot be meant.
func (q ReturnRequest) Delay() (time.Duration, error) {
	if q.DelayMS < 0 || q.DelayMS > maxDelay.Milliseconds() {
		return 0, fmt.Errorf("delay_ms %d, want 0 to %d", q.DelayMS, maxDelay.Milliseconds())
	}
	return time.Duration(q.DelayMS) * time.Millisecond, nil
}

// checkCPUs allows a kernel list, and "" of a host without one.
func checkCPUs(list string) error {
	if len(list) > maxCPUs {
		return fmt.Errorf("a list of CPUs has %d bytes, want at most %d", len(list), maxCPUs)
	}
	if list == "" {
		return nil
	}
	_, err := cpuset.Parse(list)
	return err
}

// checkText allows line breaks: reasons are errors of programs.
func checkText(what, text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("%s has %d bytes, want at most %d", what, len(text), most)
	}
	for _, r := range text {
		if r == utf8.RuneError || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return fmt.Errorf("%s has a character that is no text", what)
		}
	}
	return nil
}
