package guestlab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// volatile lists files that change by themselves, and why. compare ignores them.
var volatile = compiled([]struct{ pattern, why string }{
	{`^/sys/kernel/(debug|tracing)/`, "views of everything that happens, and reading some of them waits"},
	{`^/sys/kernel/slab/`, "the kernel's own memory"},
	{`^/proc/irq/\d+/(spurious|effective_affinity(_list)?)$`,
		"counts interrupts; and which of the allowed CPUs gets it, the kernel chooses again at each write"},
	{`^/proc/sys/fs/(dentry-state|inode-nr|inode-state|file-nr|aio-nr)$`, "caches and open files"},
	{`^/proc/sys/kernel/(ns_last_pid|random/uuid|random/entropy_avail|pty/nr)$`, "counts processes, or is random"},
	{`/(runtime_active_time|runtime_suspended_time|runtime_active_kids|since_epoch|time)$`, "clocks of devices"},
	{`^/sys/devices/system/node/node\d+/(meminfo|numastat|vmstat)$`, "memory in use"},
	{`/(stat|inflight|uevent_seqnum|io_ticks|diskseq)$`, "counts of block devices"},
	{`/statistics/`, "counts of network devices"},
	{`^/sys/fs/cgroup/(.*/)?(.*\.(stat|pressure|events|current|peak)|cgroup\.procs|cgroup\.threads|memory\.numa_stat)$`,
		"use of groups"},
	{`/time_in_state_ms$|^/sys/kernel/irq/\d+/per_cpu_count$`, "counts time and interrupts"},
	{`/khugepaged/(full_scans|pages_collapsed)$`, "counts work"},
	{`/cpuidle/state\d+/(usage|time|above|below|rejected)$`, "counts sleeps"},
})

func compiled(list []struct{ pattern, why string }) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, v := range list {
		all = append(all, regexp.MustCompile(v.pattern))
	}
	return all
}

// The roots of files that settings can change.
var (
	knobs = []string{"/proc/sys", "/proc/irq", "/sys/devices/virtual/workqueue", "/sys/devices/system/cpu",
		"/sys/kernel/mm", cgroups}
	everything = []string{"/proc/sys", "/proc/irq", "/sys"}
)

// snapshot returns the content of all files below the roots, and the affinity of all threads.
func snapshot(t *testing.T, roots []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // a device or group was removed
			case d.IsDir() && isVolatile(path+"/"):
				return fs.SkipDir
			case d.IsDir():
				all[path+"/"] = "folder"
			case d.Type().IsRegular() && !isVolatile(path):
				all[path] = content(path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all["/proc/swaps"] = content("/proc/swaps")
	threads, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		// Workers come and go, as do judged and the threads of these tests.
		name := field(string(text), "Name")
		if err == nil && !fixed(filepath.Dir(path)) && !strings.HasPrefix(name, "judged") && name != "package.test" &&
			name != "init" {
			all[path] = name + " may run on " + field(string(text), "Cpus_allowed_list")
		}
	}
	return all
}

// fixed reports whether only the kernel moves a thread (PF_NO_SETAFFINITY): a rescuer follows the workers that
// it last helped.
func fixed(dir string) bool {
	stat, err := os.ReadFile(dir + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if err != nil || len(fields) < 7 {
		return true // it has exited
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return err != nil || flags&0x04000000 != 0
}

func isVolatile(path string) bool {
	return slices.ContainsFunc(volatile, func(r *regexp.Regexp) bool { return r.MatchString(path) })
}

// content returns the beginning of a file, or the error of reading it.
func content(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return errors.Unwrap(err).Error()
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return fmt.Sprintf("%s%v", text, errors.Unwrap(err))
	}
	return string(text)
}

// compareSnapshots checks that nothing below the roots has changed.
func compareSnapshots(t *testing.T, what string, before map[string]string, roots []string) {
	t.Helper()
	after := snapshot(t, roots)
	for _, path := range slices.Sorted(maps.Keys(union(before, after))) {
		was, had := before[path]
		is, has := after[path]
		inRoots := strings.HasPrefix(path, "/proc/") ||
			slices.ContainsFunc(roots, func(r string) bool { return strings.HasPrefix(path, r+"/") })
		if inRoots && (was != is || had != has) {
			t.Errorf("%s: %s was %q (%t) and is %q (%t)", what, path, was, had, is, has)
		}
	}
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
