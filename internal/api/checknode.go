package api

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"judged/internal/base/cpuset"
)

// Limits of what a node reports about itself. judged is far within them.
const (
	maxSlots      = 4096
	maxLanguages  = 1024
	maxNodeReason = 64 << 10 // bytes
	// maxDelay is the longest time for which a node can withhold a job from all nodes.
	maxDelay = time.Hour
)

// checkCPUs accepts a kernel list, and "" from a host without one.
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

// checkText accepts line breaks: reasons are errors of programs.
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
