package sandbox

import (
	"strings"
	"syscall"
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

// TestLacks: a standard interpreter or loader that the kernel does not find is the host's fault, also if it is only the
// sandbox that does not have it.
func TestLacks(t *testing.T) {
	ruby := &runtimes.Program{Wanted: "/usr/bin/racket99"}
	for name, tt := range map[string]struct {
		errno   syscall.Errno
		program *runtimes.Program
		want    string
		why     string
	}{
		"not on the host":       {syscall.ENOENT, ruby, "/usr/bin/racket99", "this host has no"},
		"not in the sandbox":    {syscall.ENOENT, &runtimes.Program{Wanted: "/bin/sh"}, "/bin/sh", "install it below /usr"},
		"another reason":        {syscall.EACCES, ruby, "", ""},
		"any other file":        {syscall.ENOENT, &runtimes.Program{}, "", ""},
		"a program of the host": {syscall.ENOENT, nil, "/bin/command", "this host has no"},
	} {
		got := Result{Lacks: lacks(tt.errno, []string{"/bin/command"}, tt.program)}
		if got.Lacks != tt.want || tt.why != "" && !strings.Contains(got.WhyLacks(), tt.why) {
			t.Errorf("%s: %q, %s; want %q, %s", name, got.Lacks, got.WhyLacks(), tt.want, tt.why)
		}
	}
}
