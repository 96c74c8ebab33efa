package settings

import "testing"

func TestMeaning(t *testing.T) {
	for _, tc := range []struct {
		kind       Kind
		text, want string
	}{
		{Word, " performance\n", "performance"},
		{Token, "always defer [madvise] never\n", "madvise"},
		{List, "0-3,8\n", "0-3,8"},
		{List, "3,2,1\n", "1-3"},
		{Mask, "00000000,0000000f\n", "f"},
		{Mask, "00000001,00000000\n", "1,00000000"},
		{Mask, "000\n", "0"},
	} {
		if got, err := tc.kind.Meaning(tc.text); err != nil || got != tc.want {
			t.Errorf("%s %q: %q, %v, want %q", tc.kind, tc.text, got, err, tc.want)
		}
	}
	if got, err := Token.Meaning("no bracket"); err == nil {
		t.Errorf("token without brackets: %q", got)
	}
}

func TestMatches(t *testing.T) {
	perCPU, any := Value{Pattern: "/sys/cpu{cpu}/online"}, Value{Pattern: "/sys/irq/[0-9]*/list"}
	for path, want := range map[string]bool{"/sys/cpu0/online": true, "/sys/cpu12/online": true, "/sys/cpu/online": false,
		"/sys/cpux/online": false, "/sys/cpu1x/online": false, "/sys/cpu1/../online": false} {
		if got := perCPU.Matches(path); got != want {
			t.Errorf("%s of %s: %t", path, perCPU.Pattern, got)
		}
	}
	if !any.Matches("/sys/irq/7/list") || any.Matches("/sys/irq/default/list") || any.Matches("/sys/irq/7/x/list") {
		t.Errorf("matches of %s", any.Pattern)
	}
}

// TestCommands: commands are generated from the wanted values unless the catalogue has commands.
func TestCommands(t *testing.T) {
	for id, want := range map[string]string{
		"ksm":         "echo 0 > /sys/kernel/mm/ksm/run",
		"fair-server": "for c in {RW}; do echo 0 > /sys/kernel/debug/sched/fair_server/cpu$c/runtime; done",
		"net-rps-xps": "for f in /sys/class/net/*/queues/rx-*/rps_cpus; do echo 0 > $f; done",
		"swap":        "swapoff -a",
	} {
		s, ok := Get(id)
		if commands := s.Commands(); !ok || len(commands) == 0 || commands[0] != want {
			t.Errorf("%s: %q, want %q", id, commands, want)
		}
	}
	if s, ok := Get("frob"); ok {
		t.Errorf("found %+v", s)
	}
}
