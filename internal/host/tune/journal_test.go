package tune

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/host/settings"
)

func oneEntry(e string) string {
	return `{"version":1,"boot_id":"0d5c","cpus":"3","entries":[` + e + `]}`
}

const goodEntry = `{"setting":"thp","kind":"token","path":"/sys/kernel/mm/transparent_hugepage/enabled","old":"always","ours":["madvise"]}`

const goodArea = `{"setting":"swap","kind":"area","path":"/dev/sda2","old":"on, priority 5","ours":["off"]}`

func TestJournalIsNotBelieved(t *testing.T) {
	v := &view{mount: "/sys/fs/cgroup"}
	if _, err := parseJournal([]byte(oneEntry(goodEntry)), v); err != nil {
		t.Fatal(err)
	}
	if _, err := parseJournal([]byte(oneEntry(goodArea)), v); err != nil {
		t.Fatal(err)
	}
	replaced := func(old, new string) string { return oneEntry(strings.Replace(goodEntry, old, new, 1)) }
	for name, tc := range map[string]struct{ text, want string }{
		"no JSON":       {"x", "invalid character"},
		"cut off":       {oneEntry(goodEntry)[:40], "EOF"},
		"two documents": {oneEntry(goodEntry) + "{}", "trailing data"},
		"unknown key":   {replaced(`"old"`, `"mode":"x","old"`), `unknown field "mode"`},
		"version":       {`{"version":2,"boot_id":"0d5c"}`, "version 2, want 1"},
		"no boot":       {`{"version":1}`, `invalid boot_id ""`},
		"CPUs":          {`{"version":1,"boot_id":"0d5c","cpus":"x"}`, `"x" is not a CPU number`},
		"another file": {replaced("/sys/kernel/mm/transparent_hugepage/enabled", "/etc/shadow"),
			`path "/etc/shadow" is not one of setting thp`},
		"another knob's file": {replaced("/sys/kernel/mm/transparent_hugepage/enabled",
			"/proc/sys/kernel/core_pattern"), "is not one of"},
		"way out": {replaced("/sys/kernel/mm/transparent_hugepage/enabled",
			"/sys/kernel/mm/../mm/transparent_hugepage/enabled"), "is not one of"},
		"relative": {replaced("/sys/kernel", "sys/kernel"), "is not one of"},
		"device that climbs": {oneEntry(
			`{"setting":"net-rps-xps","kind":"mask","path":"/sys/class/net/../queues/rx-0/rps_cpus","old":"0","ours":["0"]}`), "is not one of"},
		"no number of a CPU": {oneEntry(
			`{"setting":"governor","kind":"word","path":"/sys/devices/system/cpu/cpux/cpufreq/scaling_governor","old":"a","ours":["b"]}`), "is not one of"},
		"another kind":      {replaced("token", "word"), "is not one of"},
		"no kind":           {replaced("token", "shell"), `unknown kind "shell"`},
		"no setting":        {replaced(`"thp"`, `"frob"`), `unknown setting "frob"`},
		"thread for a file": {replaced(`"old"`, `"start":"7","old"`), "is not one of"},
		"thread": {oneEntry(
			`{"setting":"kthreads","kind":"affinity","path":"/proc/self","start":"1","old":"0","ours":["1"]}`), "is not one of"},
		"thread without time": {oneEntry(
			`{"setting":"kthreads","kind":"affinity","path":"/proc/5","old":"0","ours":["1"]}`), "is not one of"},
		"group": {oneEntry(
			`{"setting":"sched-isolated","kind":"partition","path":"/sys/fs/cgroup/system.slice","old":"","ours":["root 1"]}`), "is not one of"},
		"group elsewhere": {oneEntry(
			`{"setting":"sched-isolated","kind":"partition","path":"/home/judged","old":"","ours":["root 1"]}`), "is not one of"},
		"area": {strings.Replace(oneEntry(goodArea), "/dev/sda2", "dev/sda2", 1),
			`path "dev/sda2" is not one of setting swap`},
		"area that climbs": {strings.Replace(oneEntry(goodArea), "/dev/sda2", "/dev/../home/x", 1), "is not one of"},
		"area to switch off": {oneEntry(
			`{"setting":"swap","kind":"area","path":"/dev/sda2","old":"off","ours":["on"]}`), "is not one of"},
		"area that was off": {strings.Replace(oneEntry(goodArea), "on, priority 5", "off", 1), "is not one of"},
		"area of a thread":  {strings.Replace(oneEntry(goodArea), `"old"`, `"start":"7","old"`, 1), "is not one of"},
		"area never off":    {strings.Replace(oneEntry(goodArea), `"off"`, `"off","on"`, 1), "is not one of"},
		"area without ours": {strings.Replace(oneEntry(goodArea), `"off"`, "", 1), "is not one of"},
		"area too high": {strings.Replace(oneEntry(goodArea), "priority 5", "priority 32768", 1),
			"invalid state"},
		"area of a sign":  {strings.Replace(oneEntry(goodArea), "priority 5", "priority +5", 1), "invalid state"},
		"area of another": {strings.Replace(oneEntry(goodArea), `"swap"`, `"thp"`, 1), "is not one of setting thp"},
		"nothing ours":    {replaced(`"madvise"`, ""), "no written value of"},
		"line":            {replaced("always", `a\nb`), "unprintable"},
		"line as token":   {replaced("always", "[always] never"), "is not one word"},
		"long":            {replaced("always", strings.Repeat("x", maxValueBytes+1)), "too long"},
		"mask": {oneEntry(
			`{"setting":"wq-unbound","kind":"mask","path":"/sys/devices/virtual/workqueue/cpumask","old":"f","ours":["zz"]}`), "not a hex digit"},
		"twice": {oneEntry(goodEntry + "," + goodEntry), "duplicate path"},
	} {
		if _, err := parseJournal([]byte(tc.text), v); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := parseJournal([]byte(oneEntry(
		`{"setting":"sched-isolated","kind":"partition","path":"/judged","old":"","ours":["root 1"]}`)), &view{}); err == nil {
		t.Error("a group without a mount was accepted")
	}
}

// TestHostileJournalStopsEverything: at the first invalid entry, nothing more is read and nothing is written.
func TestHostileJournalStopsEverything(t *testing.T) {
	k := host(t, "intel-bare-turbo-ht")
	k.journal = []byte(oneEntry(goodEntry + "," +
		strings.Replace(goodEntry, "/sys/kernel/mm/transparent_hugepage/enabled", "/etc/passwd", 1)))
	before := k.contents()
	for name, do := range map[string]func() error{
		"restore": func() error { _, err := k.tuner(Options{}).restore(t.Context()); return err },
		"apply":   func() error { _, err := k.tuner(Options{CPUs: cpus2(t, "8")}).apply(t.Context()); return err },
		"status":  func() error { _, err := k.tuner(Options{}).status(t.Context()); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(),
			`"/etc/passwd" is not one of setting thp; nothing was changed`) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, k.contents()); diff != "" || k.ops != 0 {
			t.Errorf("%s did something:\n%s", name, diff)
		}
	}
}

func TestFileOfTheJournal(t *testing.T) {
	f := file{filepath.Join(t.TempDir(), "judged", "tune.json")}
	held, err := f.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.lock(); err == nil || !strings.Contains(err.Error(), "another judged tune is running") {
		t.Errorf("second lock: %v", err)
	}
	if _, err := f.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("load of none: %v", err)
	}
	// A partial temporary file of a killed process is ignored, and removed by the next one.
	if err := os.WriteFile(f.path+".new123", []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		if err := f.Save([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Load(); err != nil || string(got) != text {
			t.Errorf("load: %q, %v, want %q", got, err, text)
		}
	}
	if err := os.Chmod(f.path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(); err == nil || err.Error() != "other users may write to it" {
		t.Errorf("load of a file of everybody: %v", err)
	}
	if err := errors.Join(f.Delete(), f.Delete()); err != nil {
		t.Errorf("drop twice: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(f.path, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.Save([]byte("three")); err == nil {
		t.Error("saved over a folder")
	}
	if err := f.Delete(); err == nil {
		t.Error("dropped a folder that is not empty")
	}
	if err := os.RemoveAll(f.path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", f.path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(); err == nil {
		t.Error("a link was followed")
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := f.lock()
	if err != nil {
		t.Fatalf("lock after the first is given back: %v", err)
	}
	if _, err := os.Lstat(f.path + ".new123"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of a killed process: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzJournal checks that an accepted journal contains only places of the catalogue and is accepted again when
// written, and that parsing never panics.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(oneEntry(goodEntry)))
	f.Add(
		[]byte(
			oneEntry(
				`{"setting":"kthreads","kind":"affinity","path":"/proc/5/task/6","start":"7","old":"0","ours":["1","2-3"]}`)))
	f.Add(
		[]byte(
			oneEntry(
				`{"setting":"sched-isolated","kind":"partition","path":"/sys/fs/cgroup/judged","old":"","ours":["isolated 1"]}`)))
	f.Add(
		[]byte(
			oneEntry(`{"setting":"irq-affinity","kind":"list","path":"/proc/irq/../../etc/x","old":"","ours":["1"]}`)))
	f.Add([]byte(oneEntry(goodArea)))
	v := &view{mount: "/sys/fs/cgroup"}
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := parseJournal(text, v)
		if err != nil {
			return
		}
		for _, e := range j.Entries {
			below := e.Setting == "swap" && path.IsAbs(e.Path) ||
				slices.ContainsFunc([]string{"/sys/", "/proc/sys/", "/proc/irq/"},
					func(dir string) bool { return strings.HasPrefix(e.Path, dir) })
			if e.Path != path.Clean(e.Path) || !below && !threadPath().MatchString(e.Path) ||
				strings.Contains(e.Old, "\n") {
				t.Errorf("accepted %+v", e)
			}
		}
		again, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseJournal(again, v); err != nil {
			t.Errorf("refused what it accepted before: %v\n%s", err, again)
		}
	})
}

// TestJournalKeepsEarlierValues: values that tune wrote earlier remain its own, and the last one is the wanted
// value.
func TestJournalKeepsEarlierValues(t *testing.T) {
	var j journal
	for _, value := range []string{"1", "2", "3", "1"} {
		j.add(change{entry: entry{Kind: settings.Word, Path: "/sys/x", Old: "0", Ours: []string{value}}})
	}
	want := []entry{{Kind: settings.Word, Path: "/sys/x", Old: "0", Ours: []string{"2", "3", "1"}}}
	if diff := cmp.Diff(want, j.Entries, cmp.AllowUnexported(entry{})); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestCheckValue(t *testing.T) {
	longest := strings.Repeat("x", maxValueBytes)
	for _, tt := range []struct {
		value string
		valid bool
	}{{" ~", true}, {longest, true}, {longest + "x", false}, {"a\x1f", false}, {"a\x7f", false}, {"a\n", false}} {
		if err := checkValue(settings.Word, tt.value); (err == nil) != tt.valid {
			t.Errorf("checkValue(%.10q) = %v, want valid %t", tt.value, err, tt.valid)
		}
	}
}
