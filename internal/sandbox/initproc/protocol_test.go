package initproc

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func someLoad() Load {
	return Load{
		Args: []string{"./prog", "", "a b"}, Program: "/usr/bin/prog", Env: []string{"PATH=/bin"}, UID: 1879048192,
		CPUs: []int{2, 130}, InputFile: "input.txt",
		FileSize: 1<<26 + 1, Stack: 8 << 20, OpenFiles: 256, Seccomp: []byte{6, 0, 0, 0, 0, 0, 255, 127},
	}
}

// TestReadAllLeavesTheDescriptor: a received descriptor is read from its start, and not closed; see readAll.
func TestReadAllLeavesTheDescriptor(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "load")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("the load"); err != nil { // leaves the offset at the end
		t.Fatal(err)
	}
	for range 2 {
		if got, err := readAll(int(f.Fd())); err != nil || string(got) != "the load" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestLoadEncodeDecode(t *testing.T) {
	for name, want := range map[string]Load{
		"full":    someLoad(),
		"minimal": {Args: []string{"x"}, Env: []string{}, CPUs: []int{0}, Seccomp: []byte{}},
		"long":    {Args: []string{strings.Repeat("x", 1<<20)}, Env: []string{}, CPUs: []int{1}, Seccomp: []byte{}},
	} {
		var got Load
		if err := got.Decode(want.Encode()); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestAnswer(t *testing.T) {
	tests := []struct {
		name string
		msg  []byte
		pid  int
		err  string
	}{
		{"pid", answer(4711, nil), 4711, ""},
		{"failure", answer(0, errors.New("clone3: no")), 0, "judged-init: clone3: no"},
		{"failure with a process to reap", answer(12, errors.New("mount proc: no")), 12, "judged-init: mount proc: no"},
		{"a very long failure is cut", answer(0, errors.New(strings.Repeat("x", 2*MaxMessage))), 0, "xxx"},
		{"end", nil, 0, "ended unexpectedly"},
		{"nonsense", []byte{'?', 2}, 0, "malformed"},
		{"no number", []byte{msgPID}, 0, "malformed"},
		{"pid 0", []byte{msgPID, 0}, 0, "malformed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pid, err := ParseAnswer(tt.msg)
			if pid != tt.pid {
				t.Errorf("pid %d, want %d", pid, tt.pid)
			}
			if (err == nil) != (tt.err == "") || (err != nil && !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want one with %q", err, tt.err)
			}
		})
	}
}

func TestRequest(t *testing.T) {
	for name, want := range map[string]LoadFDs{
		"v2":      {4, 5, 6, 7, 8, 9, 10, 11, 12, -1, -1, -1, []int{}, []int{}},
		"hybrid":  {4, 5, 6, 7, 8, 9, 10, 11, 12, -1, -1, -1, []int{}, []int{13, 14, 15}},
		"v1":      {4, 5, 6, 7, 8, 9, 10, 11, -1, -1, -1, -1, []int{}, []int{12, 13, 14, 15}},
		"v2 tree": {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, -1, -1, []int{}, []int{}},
		"open":    {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, -1, -1, []int{14, 15, 16}, []int{}},
		"v1 open": {4, 5, 6, 7, 8, 9, 10, 11, -1, -1, -1, -1, []int{12}, []int{13, 14}},
		"v1 tree": {4, 5, 6, 7, 8, 9, 10, 11, -1, 12, -1, -1, []int{}, []int{13, 14, 15, 16}},
		"files":   {4, 5, 6, 7, 8, 9, 10, 11, -1, -1, 12, -1, []int{}, []int{13}},
		"input":   {4, 5, 6, 7, 8, 9, 10, 11, -1, -1, -1, 12, []int{}, []int{13}},
		"all":     {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, []int{16, 17}, []int{18}},
	} {
		got, err := parseRequest(want.Request())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	for name, bad := range map[string]struct {
		msg []byte
		fds []int
	}{
		"too few":             {[]byte{msgChild, 0}, []int{1, 2, 3}},
		"group missing":       {[]byte{msgChild, 1}, []int{1, 2, 3, 4, 5, 6, 7, 8}},
		"tree missing":        {[]byte{msgChild, 3}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"files missing":       {[]byte{msgChild, 7}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"input missing":       {[]byte{msgChild, 15}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		"open file missing":   {[]byte{msgChild, 1 << countShift}, []int{1, 2, 3, 4, 5, 6, 7, 8}},
		"too many open files": {[]byte{msgChild, 4 << countShift}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		"short message":       {[]byte{msgChild}, []int{1, 2, 3, 4, 5, 6, 7, 8}},
	} {
		if f, err := parseRequest(bad.msg, bad.fds); err == nil {
			t.Errorf("%s: accepted as %+v", name, f)
		}
	}
}

// TestChildStepsOrder protects the order of the child's steps from a careless change. childSteps gives the reasons.
func TestChildStepsOrder(t *testing.T) {
	l := someLoad()
	steps, err := childSteps(&l, LoadFDs{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 18, []int{16}, []int{14, 15}}, "./prog", 0)
	if err != nil {
		t.Fatal(err)
	}
	first, last := map[string]int{}, map[string]int{}
	for i, s := range steps {
		if _, ok := first[s.Name]; !ok {
			first[s.Name] = i
		}
		last[s.Name] = i
	}
	const input = "move_mount " + WorkDir + "/input.txt"
	before := [][2]string{
		{"write tasks", "setns"},                           // needs rights in the host's namespaces
		{"setns", "move_mount " + Box},                     // in the run's mounts
		{"setns", "mount proc"},                            // same
		{"mount proc", "setresuid"},                        // needs CAP_SYS_ADMIN
		{"move_mount " + Box, "chdir " + WorkDir},          // exists by then
		{"move_mount " + Box, input}, {input, "setresuid"}, // on a file of the box; needs CAP_SYS_ADMIN
		{"setns", "move_mount " + Host},                 // in the run's mounts
		{"move_mount " + Host, "setresuid"},             // needs CAP_SYS_ADMIN
		{"setns", "chdir " + WorkDir},                   // in the box, not in judged-init's folder
		{"dup3", "close_range"},                         // dup3 clears the flag
		{"prctl PR_SET_SECUREBITS", "setresuid"},        // needs CAP_SETPCAP
		{"setgroups", "setresuid"},                      // needs CAP_SETGID
		{"setresgid", "setresuid"},                      // same
		{"setresuid", "capset"},                         // needs CAP_SETUID
		{"setresuid", "prctl PR_SET_PDEATHSIG"},         // a change of user clears it
		{"prctl PR_SET_NO_NEW_PRIVS", "seccomp"},        // otherwise the kernel refuses the filter
		{"prlimit64", "seccomp"}, {"capset", "seccomp"}, // the filter allows none of these
		{"setns", "rt_sigprocmask"}, {"rt_sigprocmask", "seccomp"}, // it starts with all signals blocked
		{"seccomp", "write parked"}, {"write parked", "read go"}, {"read go", ExecStepName},
	}
	for _, b := range before {
		if _, ok := first[b[0]]; !ok {
			t.Errorf("no step %q", b[0])
		}
		if last[b[0]] >= first[b[1]] {
			t.Errorf("%q at %d is not before %q at %d", b[0], last[b[0]], b[1], first[b[1]])
		}
	}
	if got := steps[len(steps)-1].Name; got != ExecStepName {
		t.Errorf("last step is %q", got)
	}
	if got := StepName(&l, LoadFDs{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 18, []int{16}, []int{14, 15}}, 0,
		int32(len(steps)-1)); got != ExecStepName {
		t.Errorf("StepName of the last step is %q", got)
	}
}

// TestChildStepsOfLayers checks which steps a layer consists of, and that removing a layer removes no other
// steps.
func TestChildStepsOfLayers(t *testing.T) {
	l, fds := someLoad(), LoadFDs{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 18, nil, []int{14, 15}}
	whole := stepNames(t, &l, fds, 0)
	for layer, want := range map[Layers][]string{
		Seccomp:    {"seccomp"},
		Namespaces: {"unshare"},
		Root:       nil, // the template, and the flags of /proc
		User: {"prctl PR_CAP_AMBIENT", "prctl PR_SET_SECUREBITS", "setgroups", "setresgid", "setresuid", "capset",
			"prctl PR_SET_NO_NEW_PRIVS"},
		Cgroup:  {"write tasks", "write tasks"},
		Rlimits: slices.Repeat([]string{"prlimit64"}, 9),
	} {
		rest := stepNames(t, &l, fds, layer)
		var missing []string
		for _, name := range whole {
			if len(rest) > 0 && rest[0] == name {
				rest = rest[1:]
			} else {
				missing = append(missing, name)
			}
		}
		if diff := cmp.Diff(want, missing); diff != "" || len(rest) > 0 {
			t.Errorf("without %s: unexpected steps %q; missing steps (-want +got):\n%s", layer, rest, diff)
		}
	}
}

func stepNames(t *testing.T, l *Load, fds LoadFDs, without Layers) []string {
	t.Helper()
	steps, err := childSteps(l, fds, "./prog", without)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range steps {
		names = append(names, s.Name)
	}
	return names
}

func TestParseLayers(t *testing.T) {
	for want := range Layers(1 << len(layerNames)) {
		if got, err := ParseLayers(want.String()); got != want || err != nil {
			t.Errorf("ParseLayers(%q) = %q, %v", want, got, err)
		}
	}
	if len(EachLayer()) != len(layerNames) {
		t.Errorf("%d layers, %d names", len(EachLayer()), len(layerNames))
	}
	for _, text := range []string{"luck", "user,", "user,luck", " user"} {
		if got, err := ParseLayers(text); err == nil {
			t.Errorf("ParseLayers(%q) = %q, want an error", text, got)
		}
	}
}
