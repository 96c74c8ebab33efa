package guestlab

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"judged/internal/testkit"
)

const (
	touchedMiB = 64
	writtenMiB = 4 // much more than is preallocated for output
	inputMiB   = 8
	page       = 4096
)

// TestIsolatedMemory examines a running program: all pages of the run, its input, its output and its files are
// on the slot's node, although judged itself runs on the other one.
func TestIsolatedMemory(t *testing.T) {
	before := look(t)
	input := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(input, bytes.Repeat([]byte("0123456789abcde\n"), inputMiB<<16), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd, stderr := command(t, nil, "run", "--time-limit", "60s", "--wall-limit", "180s", "--input", input, programs+"place",
		strconv.Itoa(touchedMiB), strconv.Itoa(writtenMiB))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // if it has already exited, Wait reports it
		if err := cmd.Wait(); err == nil {
			t.Errorf("judged run ended with 0 although it was interrupted\n%s", stderr)
		}
		before.compare(t)
	}()
	pid := placed(t)
	// The other isolated CPU is not a slot of this run. A thread on it would never be
	// moved away.
	if got := status(t, strconv.Itoa(cmd.Process.Pid), "Cpus_allowed_list"); got != "0-1" {
		t.Errorf("judged run may itself run on CPUs %s, want 0-1", got)
	}

	group := groupOf(t, pid)
	stat, err := os.ReadFile(filepath.Join(group, "memory.numa_stat"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s:\n%s", group, stat)
	maps, err := os.ReadFile("/proc/" + pid + "/numa_maps")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("maps of the run:\n%s", maps)

	for _, tt := range []struct {
		name  string
		nodes []int // bytes by node
		least int   // on node 1
	}{
		{"anonymous memory by the control group", numaStat(string(stat), "anon"), touchedMiB << 20},
		{"shared memory by the control group", numaStat(string(stat), "shmem"), writtenMiB << 20},
		{"everything mapped, the program too", numaMaps(string(maps)), touchedMiB << 20},
		{"program", fileNodes(t, "/proc/"+pid+"/exe"), page},
		{"stdin", fileNodes(t, "/proc/"+pid+"/fd/0"), inputMiB << 20},
		{"stdout", fileNodes(t, "/proc/"+pid+"/fd/1"), writtenMiB << 20},
		{"stderr", fileNodes(t, "/proc/"+pid+"/fd/2"), 1},
		{"file in the working directory", fileNodes(t, "/proc/"+pid+"/fd/3"), writtenMiB << 20},
	} {
		if tt.nodes[0] != 0 || tt.nodes[1] < tt.least {
			t.Errorf("%s: bytes by node %v, want none on node 0 and at least %d on node 1", tt.name, tt.nodes, tt.least)
		}
	}
	// Check that the test can distinguish the nodes: files written by the test are on the other node.
	if nodes := fileNodes(t, input); nodes[0] == 0 {
		t.Errorf("the input of the host is on nodes %v, so this test proves nothing", nodes)
	}
}

// placed waits until the program of the run sleeps, and returns its PID.
func placed(t *testing.T) (pid string) {
	t.Helper()
	testkit.WaitFor(t, patience, "the program to have done its part", func() bool {
		pid = find(t, "place")
		info, err := os.Stat("/proc/" + pid + "/fd/2")
		return pid != "" && err == nil && info.Size() == 1
	})
	return pid
}

// TestIsolatedDelegated starts judged like a system service with Delegate=, alone in its own group: its runs
// must stay below that group.
func TestIsolatedDelegated(t *testing.T) {
	before := look(t)
	unit := filepath.Join(cgroups, "unit")
	if err := os.Mkdir(unit, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(unit)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	cmd, stderr := command(t, nil, "run", "--time-limit", "60s", "--wall-limit", "180s", programs+"place")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	run, own := groupOf(t, placed(t)), groupOf(t, strconv.Itoa(cmd.Process.Pid))
	if own != unit+"/daemon" || !strings.HasPrefix(run, unit+"/judged-") {
		t.Errorf("judged is in %s and its run in %s, want both below %s, apart", own, run, unit)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Errorf("judged run ended with 0 although it was interrupted\n%s", stderr)
	}
	// The group into which judged has moved itself is removed with the service's group.
	for _, group := range []string{own, unit} {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	}
	before.compare(t)
}

// find returns the PID of the process that runs the program.
func find(t *testing.T, name string) string {
	t.Helper()
	for _, p := range processes(t) {
		if strings.HasPrefix(p.command, "./"+name) {
			return p.pid
		}
	}
	return ""
}

func groupOf(t *testing.T, pid string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	return cgroups + strings.TrimPrefix(strings.TrimSpace(string(text)), "0::")
}

// numaStat parses the line "key N0=BYTES N1=BYTES".
func numaStat(text, key string) []int {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, key+" ") {
			return byNode(line, 1)
		}
	}
	return byNode("", 1)
}

// numaMaps sums the pages in lines of /proc/PID/numa_maps.
func numaMaps(text string) []int {
	sum := byNode("", page)
	for line := range strings.Lines(text) {
		for node, n := range byNode(line, page) {
			sum[node] += n
		}
	}
	return sum
}

func byNode(line string, unit int) []int {
	nodes := []int{0, 0}
	for word := range strings.FieldsSeq(line) {
		for node := range nodes {
			if n, ok := strings.CutPrefix(word, "N"+strconv.Itoa(node)+"="); ok {
				v, err := strconv.Atoi(n)
				if err != nil {
					v = -1 // makes every comparison fail
				}
				nodes[node] += v * unit
			}
		}
	}
	return nodes
}

// fileNodes returns the nodes of a file's cached pages, by mapping the file and reading numa_maps.
func fileNodes(t *testing.T, path string) []int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Munmap(data); err != nil {
			t.Error(err)
		}
	}()
	var touched byte
	for i := 0; i < len(data); i += page {
		touched |= data[i]
	}
	address := strconv.FormatUint(uint64(uintptr(unsafe.Pointer(&data[0]))), 16)
	maps, err := os.ReadFile("/proc/self/numa_maps")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(maps), "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, address+" ") })
	if i < 0 {
		t.Fatalf("no line for %s (%d) in\n%s", address, touched, maps)
	}
	return byNode(lines[i], page)
}
