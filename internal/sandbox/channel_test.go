package sandbox

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"judged/internal/base/cpuset"
	"judged/internal/testkit"
)

// known is a difference between runs of one program, and its reason.
type known struct {
	key, value *regexp.Regexp
	why        string
}

// knownDifferences lists all of them. deploy/SECURITY.md describes those that do not concern the run itself.
var knownDifferences = []known{
	{whole(`/proc/P/(task/\d+/)?(stat:(10|1[2-7]|22|42)|schedstat:.*|io:.*|arch_status:.*|status:.*_ctxt_switches)`),
		nil, "the run's own use"},
	{whole(`/proc/P/(task/\d+/)?sched:(nr_.*|clock-delta|se\.avg\..*|se\.sum_exec_runtime|se\.nr_migrations)`), nil,
		"the run's own use"},
	{whole(`/proc/P/(task/\d+/)?numa_maps:\d+`), regexp.MustCompile(` file=/box/| (heap|stack|anon=\d+)`),
		"the run's own memory"},
	{whole(`.* user|.*/status:[UG]id|new socket option (17|59)`), nil, "the run's user, which counts runs"},
	{whole(`.* (device|id|mount)|.*:mnt_id|.*/(maps|smaps|mountinfo):\d+`), nil,
		"file systems and mounts of the run, as the kernel numbers them"},
	{whole(
		`(/proc/P.*|/proc/self|/proc/thread-self|new (pipe|socket|memfd|pidfd)) inode|.*:ino|new socket option 57|/proc/P/(task/\d+/)?(fd|ns)/.* link`), nil,
		"what the kernel numbers new objects with (attack 113)"},
	{whole(`/proc/P/(task/\d+/)?sched:se\.(exec_start|vruntime|deadline|vlag)`), nil,
		"clocks of the scheduler (attack 144)"},
	{whole(`sysinfo .*|/proc links|new eventfd fdinfo:eventfd-id|slice`), nil,
		"how much of the machine is in use (attack 120)"},
	{whole(`/proc/P/(task/\d+/)?net/(softnet_stat|protocols|sockstat6?):.*`), nil,
		"the host's own network, of which a run has none"},
	{whole(`/proc/P/(task/\d+/)?numa_maps:\d+`), regexp.MustCompile(` file=/ `),
		"an input of more than 1 GiB is a file of the host"},
	{whole(`(/dev/stdin|/proc/P/(task/\d+/)?fd/0) (blocks|inodes) free`), nil,
		"an input of more than 1 GiB lies on the host's disk"},
}

func whole(key string) *regexp.Regexp { return regexp.MustCompile("^(" + key + ")$") }

// TestChannels runs a program that changes everything it can, and compares what the runs before and after it see, on
// its slot and on another one: every file with all its properties, every file of /proc, every number that the kernel
// assigns to new objects, and the results of system calls. A difference is a channel between runs. It is in the list
// above, or the test fails.
func TestChannels(t *testing.T) {
	l := newLab(t, nil)
	other := l.otherSlot(t)
	l.slot.Network = network(t)
	program := "testdata/channel" // in a guest, which has no libraries
	if _, err := os.Stat(program); err != nil {
		program = testkit.CompileC(t, "testdata/channel.c", false)
	}
	copied, named := someInputs(t, l.slot)
	huge := hugeInput(t, l.slot)
	for _, tt := range []struct {
		name  string
		input *Input
		file  string
	}{
		{"input", copied, ""}, {"large input", huge, ""}, {"very large input", named, ""}, {"no input", nil, ""},
		{"input file", copied, "in"}, {"large input file", huge, "in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := worker{l: l, program: program, input: tt.input, file: tt.file}
			p.next = p.prepare(t)
			p.run(t, "look") // from now on all files are cached
			seen := []map[string]string{p.run(t, "look"), p.run(t, "look")}
			p.run(t, "change")
			seen = append(seen, p.run(t, "look"))
			stop := p.hold(t, other)
			seen = append(seen, p.run(t, "look"))
			stop()
			seen = append(seen, p.run(t, "look"))
			if err := p.next.Close(); err != nil {
				t.Error(err)
			}
			for _, after := range seen[1:] {
				if diff := cmp.Diff(map[string][2]string{}, changed(seen[0], after)); diff != "" {
					t.Errorf("a run sees something different from an earlier one (before, after):\n%s", diff)
				}
			}
			if len(seen[0]) < 1000 {
				t.Errorf("looked at only %d things", len(seen[0]))
			}
		})
	}
}

// changed returns what two runs see differently, except for known differences.
func changed(before, after map[string]string) map[string][2]string {
	all := map[string][2]string{}
	for _, seen := range []map[string]string{before, after} {
		for key := range seen {
			if before[key] != after[key] && !isKnown(key, before[key], after[key]) {
				all[key] = [2]string{before[key], after[key]}
			}
		}
	}
	return all
}

func isKnown(key, before, after string) bool {
	return slices.ContainsFunc(knownDifferences, func(k known) bool {
		return k.key.MatchString(key) && (k.value == nil || k.value.MatchString(before) &&
			k.value.MatchString(after))
	})
}

// worker runs one program repeatedly, as judged does: during a run it prepares the next sandbox.
type worker struct {
	l       *lab
	program string
	input   *Input
	file    string // name of the input; "" is stdin
	next    *Sandbox
}

func (p *worker) prepare(t *testing.T) *Sandbox {
	t.Helper()
	s, err := p.l.Prepare(p.l.slot)
	if err != nil {
		t.Fatal(err)
	}
	// Everything older than the run has an earlier time stamp from now on.
	begin := clockOfFiles(t)
	testkit.WaitFor(t, time.Minute, "the clock of files to advance", func() bool { return clockOfFiles(t) > begin })
	return s
}

func (p *worker) spec(role string) Spec {
	spec := Spec{Args: []string{"./channel", role}, Files: []File{{Name: "channel", Path: p.program, Exec: true}},
		Limits: limits(), Input: p.input, InputFile: p.file}
	spec.Limits.Output = 16 << 20
	spec.Limits.CPUTime, spec.Limits.WallTime = time.Minute, 5*time.Minute
	return spec
}

// run returns what the program saw.
func (p *worker) run(t *testing.T, role string) map[string]string {
	t.Helper()
	s, begin := p.next, clockOfFiles(t)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Load(p.spec(role)); err != nil {
		t.Fatal(err)
	}
	p.next = p.prepare(t)
	r, err := s.Run(t.Context())
	if err != nil || r.Stop != StopNone || r.Signal != 0 || r.Code != 0 {
		t.Fatalf("%s: %+v, %v", role, r, err)
	}
	return parseSeen(t, outputOf(t, s), begin)
}

// hold changes everything that can be changed from another slot, and keeps the changes until stop is called.
func (p *worker) hold(t *testing.T, slot Resources) (stop func()) {
	t.Helper()
	s, err := p.l.Prepare(slot)
	if err != nil {
		t.Fatal(err)
	}
	spec := p.spec("hold")
	spec.Input = nil
	if err := s.Load(spec); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := s.Run(ctx)
		ended <- err
	}()
	testkit.WaitFor(t, time.Minute, "the run on the other slot to have changed things", func() bool {
		size, err := s.Stdout().Size()
		return err == nil && size > 0
	})
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// parseSeen parses what the program prints. Times after the start of the run are its own.
func parseSeen(t *testing.T, text string, begin int64) map[string]string {
	t.Helper()
	m := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			t.Fatalf("line %q has no value", line)
		}
		if at, ok := strings.CutPrefix(value, "@"); ok {
			ns, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if ns >= begin {
				value = "in this run"
			}
		}
		m[key] = value
	}
	return m
}

// clockOfFiles returns the clock used for time stamps of files.
func clockOfFiles(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
		t.Fatal(err)
	}
	return now.Nano()
}

func outputOf(t *testing.T, s *Sandbox) string {
	t.Helper()
	r, err := s.Stdout().Reader()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// someInputs returns an input that is copied and one that is used in place, as very large ones are.
func someInputs(t *testing.T, slot Resources) (copied, named *Input) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte(strings.Repeat("1 2 3\n", 10_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	copied, err := NewInput(path, slot)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { copied.Close() })
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // later, a run would see that the kernel has written it to the disk
		t.Fatal(err)
	}
	named, err = newNamedInput(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { named.Close() })
	return copied, named
}

// hugeInput returns an input in huge pages.
func hugeInput(t *testing.T, slot Resources) *Input {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte(strings.Repeat("1 2 3 4\n", largeInput/8)), 0o644); err != nil {
		t.Fatal(err)
	}
	in, err := NewInput(path, slot)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	if !in.copied.huge {
		t.Log("the input is not in huge pages, as in a small guest")
	}
	return in
}

func network(t *testing.T) *os.File {
	t.Helper()
	n, err := NewNetwork()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// otherSlot returns another slot, on the first CPU.
func (l *lab) otherSlot(t *testing.T) Resources {
	t.Helper()
	slot := l.slot
	slot.CPUs = cpuset.New(0)
	group, err := l.tree.Subtree(slot.CPUs, cpuset.New(slot.Node))
	if err != nil {
		t.Fatal(err)
	}
	slot.Group, slot.Network, slot.Trees = group, network(t), l.NewTrees(slot)
	t.Cleanup(func() {
		if err := slot.Trees.Close(); err != nil {
			t.Error(err)
		}
	})
	return slot
}
