package tune

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/settings"
	"judged/internal/testkit"
)

const (
	hostsDir  = "../../../testdata/hosts"
	goldenDir = "../../../testdata/golden"
)

type request struct {
	cpus  cpuset.Set
	width int
}

func recorded(t testing.TB, name string, q request) bootFacts {
	t.Helper()
	tree, _, err := testkit.Host(filepath.Join(hostsDir, name))
	if err != nil {
		t.Fatal(err)
	}
	h, err := settings.Examine(hostfs.Of(tree), q.cpus, q.width)
	if err != nil {
		t.Fatal(err)
	}
	return readFacts(h)
}

func TestRecordedHosts(t *testing.T) {
	asked := map[string]request{
		"amd-epyc-ccx":           {cpuset.New(4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 4},
		"arm64-altra":            {cpuset.New(2, 3), 0},
		"container-unprivileged": {cpuset.New(1), 0},
		"hybrid-p-e":             {cpuset.New(2, 4), 0},
		"intel-bare-tuned":       {cpuset.New(1, 2, 3, 5, 6, 7), 0},
		"intel-bare-turbo-ht":    {cpuset.New(1, 2, 3, 9, 10, 11), 2},
		"kvm-vm":                 {cpuset.New(1), 0},
		"old-kernel-v1":          {cpuset.New(2, 3), 2},
		"wsl2":                   {cpuset.New(3), 0},
	}
	hosts, err := filepath.Glob(hostsDir + "/*.txtar")
	if err != nil || len(hosts) != len(asked) {
		t.Fatalf("%d hosts, %d requests, %v", len(hosts), len(asked), err)
	}
	for name, q := range asked {
		t.Run(name, func(t *testing.T) {
			p, err := planBoot(recorded(t, name, q))
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := p.WriteText(&got); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join(goldenDir, "boot-"+name+".txt")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImpossible(t *testing.T) {
	for name, tc := range map[string]struct {
		cpus cpuset.Set
		want string
	}{
		"none":    {nil, "no CPU is reserved"},
		"offline": {cpuset.New(7), "none of the CPUs 7 is online"},
		"CPU 0":   {cpuset.New(0), "CPU 0 starts the kernel"},
	} {
		h := recorded(t, "kvm-vm", request{})
		h.Reserved = tc.cpus
		_, err := planBoot(h)
		if usage := (*UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want a *UsageError with %q", name, err, tc.want)
		}
	}
}

// bare returns a bare-metal host with two cores and all features; with hyperthreads, CPUs 2 and 3 are second
// threads.
func bare(cmdline string, hyperthreads bool) bootFacts {
	h := bootFacts{Arch: x86, CommandLine: cmdline, NohzFull: true, HugePages: true, SteadyTSC: true, Threads: noThreads,
		Host: settings.Host{Topology: machine.Topology{Online: cpuset.New(0, 1, 2, 3), Kernel: "6.12.1"}}}
	for id := range 4 {
		core := id
		if hyperthreads {
			core, h.Threads = id%2, threadsOn
		}
		h.Topology.CPUs = append(h.Topology.CPUs, machine.CPU{ID: id, Core: core})
	}
	return h
}

func TestCommandLine(t *testing.T) {
	const rest = " nowatchdog skew_tick=1 transparent_hugepage=never tsc=reliable"
	for name, tc := range map[string]struct {
		host     bootFacts
		cpus     cpuset.Set
		width    int
		want     string
		replaced []ReplacedParameter
		missing  int
	}{
		"nothing yet": {bare("", false), cpuset.New(2, 3), 1,
			"isolcpus=managed_irq,domain,2-3 nohz_full=2-3 irqaffinity=0-1" + rest, []ReplacedParameter{}, 7},
		"wide": {bare("isolcpus=2-3", false), cpuset.New(2, 3), 2,
			"isolcpus=managed_irq,2-3 nohz_full=2-3 irqaffinity=0-1" + rest,
			[]ReplacedParameter{{"isolcpus=2-3", "isolcpus=managed_irq,2-3"}}, 7},
		"the operator's stay, the loader's go": {bare(
			`BOOT_IMAGE=/v ro dyndbg="file a.c +p" mitigations=off nohz_full=2,3 -- --x`, false), cpuset.New(2, 3), 1,
			`ro dyndbg="file a.c +p" mitigations=off isolcpus=managed_irq,domain,2-3 nohz_full=2-3 irqaffinity=0-1` +
				rest + " -- --x", []ReplacedParameter{}, 6},
		"madvise stays, as the plan's": {bare("transparent_hugepage=madvise", false), cpuset.New(2, 3), 1,
			"isolcpus=managed_irq,domain,2-3 nohz_full=2-3 irqaffinity=0-1" + rest, []ReplacedParameter{}, 6},
		"second threads go": {bare("", true), cpuset.New(1, 3), 1,
			"isolcpus=managed_irq,domain,1 nohz_full=1 irqaffinity=0 nosmt" + rest, []ReplacedParameter{}, 8},
		"second threads alone are reserved": {bare("", true), cpuset.New(2, 3), 1,
			"isolcpus=managed_irq,domain,2-3 nohz_full=2-3 irqaffinity=0-1" + rest, []ReplacedParameter{}, 7},
	} {
		tc.host.Reserved, tc.host.Width = tc.cpus, tc.width
		p, err := planBoot(tc.host)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, p.CommandLine); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.replaced, p.Replaced); diff != "" {
			t.Errorf("%s, replaced (-want +got):\n%s", name, diff)
		}
		if n := len(p.Missing()); n != tc.missing {
			t.Errorf("%s: missing %v, want %d", name, p.Missing(), tc.missing)
		}
	}
}

// TestDropIn: the drop-in, a shell script, must keep all words of the operator and must not leave a word of
// ours twice.
func TestDropIn(t *testing.T) {
	h := bare("isolcpus=2 nosmt nohz_full=2 quiet", true)
	h.Reserved, h.Width = cpuset.New(1), 1
	p, err := planBoot(h)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "judged.cfg")
	if err := os.WriteFile(file, []byte(p.Files[0].Content), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-e", "-c", `GRUB_CMDLINE_LINUX="isolcpus=2 nosmt nohz_full=2 nosmtx=1"
GRUB_CMDLINE_LINUX_DEFAULT="quiet nosmt"
. "$0"
echo $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT`, file).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "nosmtx=1 " + strings.Join(p.words(), " ") + " quiet\n"
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("sourced by sh (-want +got):\n%s", diff)
	}
}
