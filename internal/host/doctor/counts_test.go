package doctor

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/testkit"
)

// changed maps paths to changed files of a host; nil means an unchanged host.
type changed map[string]string

func (c changed) host(t *testing.T, name string) hostfs.FS {
	t.Helper()
	tree, _, err := testkit.Host(filepath.Join(hostsDir, name))
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range c {
		tree[path] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
	}
	return hostfs.Of(tree)
}

func task7(switches string) string {
	return "Cpus_allowed_list:\t0-3\nvoluntary_ctxt_switches:\t" + switches + "\nnonvoluntary_ctxt_switches:\t1\n"
}

const kswapd = "7 (kswapd0) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 " +
	"0 0 0 0 0 0 0 0 0"

// TestWindow runs each check of counters on the same host twice: counts from before the first reading are
// ignored, counts since then are reported.
func TestWindow(t *testing.T) {
	throttle := "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count"
	spent := "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_total_time_ms"
	corrected := "sys/devices/system/edac/mc/mc0/ce_count"
	irq := func(count string) changed {
		return changed{"proc/irq/9/effective_affinity_list": "1", "proc/interrupts": "  CPU0 CPU1\n 9: 5 " + count +
			" edge eth0\n"}
	}
	stat := func(busy, steal string) changed {
		return changed{"proc/stat": "cpu1 " + busy + " 0 0 0 0 0 0 " + steal + " 0 0\n"}
	}
	kthread := func(switches string) changed {
		return changed{"proc/7/stat": kswapd, "proc/7/status": task7(switches)}
	}
	timer := func(count, busy string) changed {
		return changed{"proc/interrupts": "  CPU0 CPU1\n LOC: 5 " + count + " Local timer interrupts\n",
			"proc/stat": "cpu1 " + busy + " 0 0 0 0 0 0 0 0 0\n"}
	}
	for name, tc := range map[string]struct {
		id            string
		before, after changed
		want          api.DoctorStatus
		found         string // substring of Found or Reason
	}{
		"heat, past": {"thermal-throttle", changed{throttle: "3", spent: "2000"},
			changed{throttle: "3", spent: "2000"}, api.DoctorWarn, "since boot"},
		"heat, now": {"thermal-throttle", changed{throttle: "3"}, changed{throttle: "5"}, api.DoctorFail,
			"2 times in the last 60 s"},
		"errors, past": {"ecc-mce", changed{corrected: "2"}, changed{corrected: "2"}, api.DoctorWarn, "corrected 2"},
		"errors, now": {"ecc-mce", changed{corrected: "2"}, changed{corrected: "4"}, api.DoctorFail,
			"2 of them in the last 60 s"},
		"interrupt, past": {"irq-affinity", irq("7"), irq("7"), api.DoctorWarn, "none raised there in the last 60 s"},
		"interrupt, now":  {"irq-affinity", irq("7"), irq("8"), api.DoctorFail, "raised there in the last 60 s"},
		"steal, past":     {"steal", stat("100", "90"), stat("6000", "90"), api.DoctorPass, "0.00 % in the last 60 s"},
		"steal, now": {"steal", stat("900000", "0"), stat("905000", "100"), api.DoctorFail,
			"1.96 % in the last 60 s"},
		"steal, too short": {"steal", stat("900000", "0"), stat("900050", "10"), api.DoctorPass,
			"16.67 % in the last 60 s"},
		"kthread, past": {"kthreads", kthread("4"), kthread("4"), api.DoctorWarn, "none ran there in the last 60 s"},
		"kthread, now":  {"kthreads", kthread("4"), kthread("5"), api.DoctorFail, "ran there in the last 60 s"},
		"ticks, past": {"tick-probe", timer("500000", "1000"), timer("500010", "6000"), api.DoctorPass,
			"at most 0.2"},
		"ticks, now": {"tick-probe", timer("10", "900000"), timer("12510", "905000"), api.DoctorWarn, "250.0 a second"},
		"firmware, past": {"smi", changed{"judged/msr-0x34": "9"}, changed{"judged/msr-0x34": "9"}, api.DoctorPass,
			"0 in the last 60 s"},
		"firmware, now": {"smi", changed{"judged/msr-0x34": "9"}, changed{"judged/msr-0x34": "12"}, api.DoctorWarn,
			"3 in the last 60 s"},
		"firmware, all time": {"smi", changed{"judged/msr-0x34": "9"}, changed{"judged/msr-0x34": "99"}, api.DoctorFail,
			"90 in the last 60 s"},
	} {
		t.Run(name, func(t *testing.T) {
			const machine = "intel-bare-tuned"
			o := Options{CPUs: cpuset.New(1)}
			maps.Copy(tc.before, changed{"proc/uptime": "1000.00 1.00"})
			maps.Copy(tc.after, changed{"proc/uptime": "1060.00 1.00"})
			o.FS = tc.before.host(t, machine)
			_, earlier, err := Examine(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			o.FS, o.Before = tc.after.host(t, machine), &earlier
			r := examine(t, o)
			c := byID(t, r, tc.id)
			if c.Status != tc.want || !strings.Contains(c.Found+"; "+c.Reason, tc.found) {
				t.Errorf("%s: %s (%s), want %s with %q", c.Status, c.Found, c.Reason, tc.want, tc.found)
			}
			if r.WindowNS != time.Minute {
				t.Errorf("window %s", r.WindowNS)
			}
		})
	}
}

// TestNoWindow: a captured host is read once, regardless of the window, and counts of another boot are not used
// as the earlier reading.
func TestNoWindow(t *testing.T) {
	o := Options{FS: changed{"proc/uptime": "1000.00 1.00"}.host(t, "kvm-vm"), Window: time.Hour}
	r, later, err := Examine(context.Background(), o)
	if err != nil || r.WindowNS != 0 {
		t.Fatal(r.WindowNS, err)
	}
	o.FS, o.Before = changed{"proc/uptime": "20.00 1.00"}.host(t, "kvm-vm"), &later
	if r := examine(t, o); r.WindowNS != 0 {
		t.Errorf("window %s over a boot", r.WindowNS)
	}
}

// TestSecondLook waits on the machine that runs the test, because only a live machine has a second reading.
func TestSecondLook(t *testing.T) {
	r := examine(t, Options{FS: hostfs.New("/"), Window: 20 * time.Millisecond})
	if r.WindowNS < 10*time.Millisecond { // the kernel's uptime has a resolution of 10 ms
		t.Errorf("window %s, want 20 ms", r.WindowNS)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(stopped, Options{FS: hostfs.New("/"), Window: time.Hour}); err == nil {
		t.Error("a look that was called off came to an end")
	}
}
