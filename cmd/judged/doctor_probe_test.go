package main

import (
	"testing"
	"testing/fstest"

	"judged/internal/host/hostfs"
)

// TestDaemonPID: only a process that was started as the daemon prevents a probe.
func TestDaemonPID(t *testing.T) {
	for name, tt := range map[string]struct {
		cmdline string
		want    int
	}{
		"a daemon":         {"/usr/bin/judged\x00serve\x00--listen\x00:80\x00", 42},
		"another verb":     {"judged\x00doctor\x00--probe\x00", 0},
		"another program":  {"/bin/sh\x00serve\x00", 0},
		"a kernel thread":  {"", 0},
		"named after it":   {"grep\x00judged\x00serve\x00", 0},
		"without its path": {"judged\x00serve\x00", 42},
	} {
		tree := fstest.MapFS{"proc/42/cmdline": {Data: []byte(tt.cmdline), Mode: 0o444},
			"proc/1/cmdline": {Data: []byte("init\x00"), Mode: 0o444}}
		if pid, err := daemonPID(hostfs.Of(tree)); pid != tt.want || err != nil {
			t.Errorf("%s: process %d, %v; want %d", name, pid, err, tt.want)
		}
	}
}
