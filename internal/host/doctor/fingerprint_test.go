package doctor

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
	"judged/internal/testkit"
)

// subject is a recorded host and the values that the engine adds.
type subject struct {
	t      *testing.T
	tree   fstest.MapFS
	slots  []slots.Slot
	boost  machine.TurboState
	canary string
}

// newSubject returns a copy of a recorded host that may be changed.
func newSubject(t *testing.T, name string) *subject {
	t.Helper()
	tree, _, err := testkit.Host(filepath.Join(hostsDir, name))
	if err != nil {
		t.Fatal(err)
	}
	m := &subject{t: t, tree: tree, slots: []slots.Slot{{CPUs: cpuset.New(1)}}, boost: machine.TurboOff, canary: "canary"}
	// Not all recordings have these files.
	m.write("/proc/cmdline", "BOOT_IMAGE=/vmlinuz-1 root=/dev/sda1 ro isolcpus=2-7 nohz_full=2-7 quiet")
	m.write("/boot/config-"+m.topology().Kernel, "CONFIG_HZ=250\nCONFIG_SATA=y\n# CONFIG_PSI is not set\n")
	m.write("/sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected")
	m.write("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")
	m.write("/sys/devices/system/edac/mc/mc0/dimm3/dimm_mem_type", "Registered-DDR4")
	return m
}

func (m *subject) write(path, text string) {
	m.tree[strings.TrimPrefix(path, "/")] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
}

func (m *subject) replace(path, old, text string) {
	m.t.Helper()
	was, err := m.host().Read(path)
	if err != nil {
		m.t.Fatal(err)
	}
	if !strings.Contains(was, old) {
		m.t.Fatalf("%s has no %q", path, old)
	}
	m.write(path, strings.ReplaceAll(was, old, text))
}

func (m *subject) host() hostfs.FS { return hostfs.Of(m.tree) }

func (m *subject) topology() machine.Topology {
	m.t.Helper()
	t, err := machine.ReadTopology(m.host())
	if err != nil {
		m.t.Fatal(err)
	}
	return t
}

func (m *subject) read() api.Fingerprint {
	return ReadFingerprint(Subject{FS: m.host(), Topology: m.topology(), Slots: m.slots, Turbo: m.boost,
		Program: []byte(m.canary)})
}

func (m *subject) fingerprint() string {
	return m.read().Sum
}

// TestFingerprint changes one property of a host at a time.
func TestFingerprint(t *testing.T) {
	const host = "intel-bare-tuned"
	const model = "Xeon(R) Gold 6234 CPU @ 3.30GHz\n"
	want := newSubject(t, host).fingerprint()
	if len(want) != 16 {
		t.Errorf("fingerprint %q, want 16 digits", want)
	}
	for name, tt := range map[string]struct {
		same   bool
		change func(m *subject)
	}{
		"nothing": {true, func(*subject) {}},
		"microcode": {true, func(m *subject) {
			m.replace("/proc/cpuinfo", model, model+"microcode\t: 0x5003604\ncpu MHz\t: 3299.9\n")
		}},
		"BIOS":      {true, func(m *subject) { m.write("/sys/class/dmi/id/bios_version", "2.1") }},
		"host name": {true, func(m *subject) { m.write("/proc/sys/kernel/hostname", "other") }},
		"disk, word order": {true, func(m *subject) {
			m.write("/proc/cmdline", "root=UUID=7 nohz_full=2-7 isolcpus=2-7")
		}},
		"kernel's drivers": {true, func(m *subject) {
			m.replace("/boot/config-"+m.topology().Kernel, "SATA=y", "SATA=m")
		}},
		"model":         {false, func(m *subject) { m.replace("/proc/cpuinfo", "Gold 6234", "Gold 6244") }},
		"stepping":      {false, func(m *subject) { m.replace("/proc/cpuinfo", model, model+"stepping\t: 7\n") }},
		"hypervisor":    {false, func(m *subject) { m.replace("/proc/cpuinfo", "fpu vme", "fpu hypervisor vme") }},
		"instance type": {false, func(m *subject) { m.write("/sys/class/dmi/id/product_name", "m5.metal") }},
		"caches": {false, func(m *subject) {
			m.write("/sys/devices/system/cpu/cpu1/cache/index3/size", "1024K")
		}},
		"first level": {false, func(m *subject) {
			m.write("/sys/devices/system/cpu/cpu0/cache/index0/size", "48K")
		}},
		"memory modules": {false, func(m *subject) {
			m.write("/sys/devices/system/edac/mc/mc1/dimm0/dimm_mem_type", "Registered-DDR4")
		}},
		"kernel": {false, func(m *subject) { m.write("/proc/sys/kernel/osrelease", "6.99") }},
		"kernel's tick": {false, func(m *subject) {
			m.replace("/boot/config-"+m.topology().Kernel, "HZ=250", "HZ=1000")
		}},
		"command line": {false, func(m *subject) { m.replace("/proc/cmdline", "quiet", "mitigations=off") }},
		"mitigations": {false, func(m *subject) {
			m.write("/sys/devices/system/cpu/vulnerabilities/meltdown", "Vulnerable")
		}},
		"huge pages": {false, func(m *subject) {
			m.write("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never")
		}},
		"clock": {false, func(m *subject) {
			m.write(
				"/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")
		}},
		"threads": {false, func(m *subject) { m.write("/sys/devices/system/cpu/smt/active", "1") }},
		"planned speed": {false, func(m *subject) {
			m.write("/sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq", "1200000")
		}},
		"turbo":  {false, func(m *subject) { m.boost = machine.TurboOn }},
		"slots":  {false, func(m *subject) { m.slots = append(m.slots, slots.Slot{CPUs: cpuset.New(2)}) }},
		"canary": {false, func(m *subject) { m.canary = "another" }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSubject(t, host)
			tt.change(m)
			if got := m.fingerprint(); (got == want) != tt.same {
				t.Errorf("fingerprint %s of the host, %s of the changed one; same should be %v", want, got, tt.same)
			}
		})
	}
}

// TestFingerprintsOfHosts: the fingerprints of all recorded hosts differ.
func TestFingerprintsOfHosts(t *testing.T) {
	files, err := filepath.Glob(hostsDir + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		f := newSubject(t, name).fingerprint()
		if other, ok := seen[f]; ok {
			t.Errorf("%s and %s have the same fingerprint", name, other)
		}
		seen[f] = name
	}
	if len(seen) < 2 {
		t.Errorf("%d hosts in %s, want two and more", len(seen), hostsDir)
	}
}

// TestPackedConfig: without a file in /boot, the kernel's own copy of its configuration is used.
func TestPackedConfig(t *testing.T) {
	m := &subject{t: t, tree: fstest.MapFS{}}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("CONFIG_HZ=100\nCONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_NET=y\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m.write("/proc/config.gz", packed.String())
	want := []string{"CONFIG_HZ=100", "CONFIG_IRQ_TIME_ACCOUNTING=y"}
	if got := timingOptions(kernelConfig(m.host(), "6.1", nil)); !slices.Equal(got, want) {
		t.Errorf("options %q", got)
	}
	for _, broken := range []string{"", "no gzip", packed.String()[:20]} {
		m.write("/proc/config.gz", broken)
		if got := timingOptions(kernelConfig(m.host(), "6.1", nil)); len(got) > 0 {
			t.Errorf("options %q of %q", got, broken)
		}
	}
}

// TestParse: printed fingerprints can be parsed, other text cannot.
func TestParse(t *testing.T) {
	want := newSubject(t, "intel-bare-tuned").read()
	want.Kernels = &api.KernelTimes{Program: "ab12", CPUTime: map[string]time.Duration{"alu": 98 * time.Millisecond}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := api.ParseFingerprint(text)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, broken := range []string{"", "{}", "null", strings.Replace(string(text), `"schema":1`, `"schema":2`, 1),
		strings.Replace(string(text), "Gold 6234", "Gold 6244", 1),
		strings.Replace(string(text), `"soft"`, `"other"`, 1),
		strings.Replace(string(text), `"alu":98000000`, `"alu":0`, 1)} {
		if _, err := api.ParseFingerprint([]byte(broken)); err == nil {
			t.Errorf("parsed %.40q", broken)
		}
	}
}

func TestDifferences(t *testing.T) {
	m := newSubject(t, "intel-bare-tuned")
	pool := m.read()
	m.write("/proc/sys/kernel/osrelease", "6.99")
	m.write("/proc/cmdline", "quiet mitigations=off")
	m.write("/sys/class/dmi/id/bios_version", "2.1")
	here := m.read()
	got := [][]api.NodeDifference{api.Differences(here.Hard, pool.Hard, api.CutMembers()),
		api.Differences(here.Soft, pool.Soft, api.CutMembers())}
	want := [][]api.NodeDifference{{{Member: "config", Node: "[]", Pool: "[CONFIG_HZ=250]"},
		{Member: "kernel", Node: "6.99", Pool: "6.12.38+deb13-amd64"}},
		{{Member: "/sys/class/dmi/id/bios_version", Node: "2.1", Pool: ""}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if d := api.Differences(here.Hard, pool.Hard, nil); len(d) != 3 {
		t.Errorf("with the command line %v, want 3", d)
	}
}
