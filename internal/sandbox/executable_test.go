package sandbox

import (
	"testing"

	"judged/internal/sandbox/runtimes"
)

// TestLacksToContinue: a script that ends because the host lacks a program it executes is not at fault.
func TestLacksToContinue(t *testing.T) {
	for _, tt := range []struct {
		code     int
		executes []string
		want     string
	}{
		{127, []string{"sh", "racket99"}, "racket99"},
		{127, []string{"/usr/bin/racket99"}, "/usr/bin/racket99"},
		{127, []string{"sh", "/bin/sh"}, ""},
		{127, nil, ""},
		{1, []string{"racket99"}, ""},
		{0, []string{"racket99"}, ""},
	} {
		if got := lacksToContinue(tt.code, &runtimes.Program{Executes: tt.executes}); got != tt.want {
			t.Errorf("%d, %q: %q, want %q", tt.code, tt.executes, got, tt.want)
		}
	}
	if got := lacksToContinue(127, nil); got != "" {
		t.Errorf("a program of the host: %q", got)
	}
}
