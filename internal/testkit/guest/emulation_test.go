package guest

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"judged/internal/testkit"
)

// TestStarts replaces QEMU by a shell script that gets the number of its start in $n and the files in $console
// and $channel.
func TestStarts(t *testing.T) {
	const (
		done   = `echo '{"Stream":"done"}' >$channel`
		live   = `while :; do echo '{"Stream":"beat"}' >>$channel; sleep 0.01; done`
		silent = `exec sleep 60`
		stall  = `echo "[   29.2] rcu: INFO: rcu_preempt self-detected stall on CPU" >$console`
	)
	for _, tc := range []struct {
		name, script string
		timeout      time.Duration
		silence      time.Duration // after which it is stuck, if the case waits for that
		starts       int
		stuck        bool
		err          string   // "" means a guest that has powered off
		log          []string // one for each start except the last
	}{
		{name: "good", script: done, starts: 1},
		{name: "silent at first", script: `[ $n != 1 ] || ` + silent + "\n" + done, starts: 2, silence: 2 * time.Second,
			log: []string{"(start 1 of at most 3): the guest is stuck: it was silent for 2s"}},
		{name: "stalled twice, with signs of life", script: `[ $n = 3 ] || { ` + stall + "; " + live +
			"; }\nsleep 0.3\n" + done, starts: 3,
			log: []string{
				`(start 1 of at most 3): the guest is stuck: its kernel says "rcu: INFO: rcu_preempt self-detected stall on CPU"`,
				`(start 2 of at most 3): the guest is stuck: its kernel says`,
			}},
		{name: "fast clock at first", script: `[ $n != 1 ] || { ` + beat("1") + "; sleep 1; " + beat("60") + "; " + silent +
			"; }\n" + beat("1") + "; sleep 1; " + beat("2") + "; sleep 0.1\n" + done, starts: 2,
			log: []string{"(start 1 of at most 3): the guest is stuck: 59s passed by its clock in "}},
		{name: "silent for good", script: silent, starts: 3, stuck: true, silence: time.Second,
			err: "(start 3 of at most 3): the guest is stuck", log: []string{"(start 1", "(start 2"}},
		{name: "alive without an end", script: live, timeout: time.Second, starts: 1, err: "did not power off in time"},
		{name: "no emulator", script: `echo no such board >&2; exit 1`, starts: 1,
			err: "run QEMU: exit status 1\nno such board"},
		{name: "cut off", script: `echo Oops >$console; : >$channel`, starts: 1, err: "ended before it was done"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			count := filepath.Join(dir, "starts")
			e := emulation{
				qemu: "/bin/sh", console: filepath.Join(dir, "console"), channel: filepath.Join(dir, "results"),
				timeout: cmp.Or(tc.timeout, time.Minute),
				silence: cmp.Or(tc.silence, 4*time.Second), // a shell on a busy machine is silent for a while too
			}
			e.args = []string{"-c", `console=$1 channel=$2; echo >>$3; n=$(wc -l <$3)` + "\n" + tc.script, "qemu",
				e.console, e.channel, count}
			v := &verdict{TB: t}
			_, err := e.run(v)

			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) ||
				errors.Is(err, errStuck) != tc.stuck {
				t.Errorf("error %v, stuck %t; want %q, %t", err, errors.Is(err, errStuck), tc.err, tc.stuck)
			}
			starts, err := os.ReadFile(count)
			if err != nil || len(starts) != tc.starts {
				t.Errorf("%d starts (%v), want %d", len(starts), err, tc.starts)
			}
			if n := strings.Count(v.log.String(), "the guest is started again"); n != len(tc.log) {
				t.Errorf("%d further starts in the log, want %d:\n%s", n, len(tc.log), v.log.String())
			}
			for _, want := range tc.log {
				if !strings.Contains(v.log.String(), want) {
					t.Errorf("the log does not say %q:\n%s", want, v.log.String())
				}
			}
		})
	}
}

// beat returns the command for a beat.
func beat(seconds string) string {
	return `echo '{"Stream":"beat","Clock":` + seconds + `000000000}' >>$channel`
}

func TestStall(t *testing.T) {
	console := filepath.Join(t.TempDir(), "console")
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"[    1.0] rcu: Hierarchical RCU implementation.\r\n", ""},
		{"[    9.1] x\r\n[   29.2] rcu: INFO: rcu_preempt self-detected stall on CPU\r\n[   29.2] rcu: \t2-...!\r\n",
			"rcu: INFO: rcu_preempt self-detected stall on CPU"},
		{"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n",
			"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"},
		{"rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 2-... }",
			"rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 2-... }"},
	} {
		if err := os.WriteFile(console, []byte(tc.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := stall(console); got != tc.want {
			t.Errorf("in %q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

// TestFrozenGuest stops the CPUs of a machine before they execute anything.
func TestFrozenGuest(t *testing.T) {
	t.Parallel()
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel)
	e, err := prepare(t, Config{Commands: []Command{read("never", "/proc/uptime")}}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	e.args, e.silence = append(e.args, "-S"), 300*time.Millisecond
	v := &verdict{TB: t}
	results, err := e.run(v)
	if !errors.Is(err, errStuck) || len(results) != 0 {
		t.Errorf("error %v, results %v; want a guest that is stuck, and none", err, results)
	}
	if n := strings.Count(v.log.String(), "the guest is started again"); n != starts-1 {
		t.Errorf("%d further starts in the log, want %d:\n%s", n, starts-1, v.log.String())
	}
}

// beats counts the beats received.
func beats(t *testing.T, e emulation) int {
	t.Helper()
	text, err := os.ReadFile(e.channel)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte(`{"Stream":"beat",`))
}
