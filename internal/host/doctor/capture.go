package doctor

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"judged/internal/host/hostfs"
)

// Capture writes what the checks read of a host as a gzipped tar, for a bug report: hostfs opens it,
// and the same checks then come to the same results. What they do not look at inside the files is
// left out: the host's name, other words of the kernel command line and of environments, mounts of
// other kinds, serial numbers. Names of threads and of cgroups stay.
func Capture(ctx context.Context, o Options, w io.Writer) error {
	var notes *hostfs.Recording
	o.FS, notes = o.FS.Record()
	if _, err := Run(ctx, o); err != nil {
		return err
	}
	// No check reads it, but judged tune plan --root does where there is swap; a
	// host that lacks it is captured without.
	_, _ = o.FS.ReadFile("/proc/meminfo")
	files := notes.Files()
	for name, f := range files {
		if !f.Mode.IsDir() && f.Mode.Perm() != 0 {
			f.Data = []byte(withoutSecrets(name, string(f.Data)))
		}
	}
	files["NOTE"] = &fstest.MapFile{Data: []byte("Captured by judged doctor --capture: the files that its checks read, cut to what they look at.\n"), Mode: 0o444}
	if err := hostfs.WriteArchive(w, files); err != nil {
		return fmt.Errorf("capture host: %w", err)
	}
	return nil
}

// withoutSecrets keeps of a file what checks look at.
func withoutSecrets(name, text string) string {
	process := strings.HasPrefix(name, "proc/")
	switch base := path.Base(name); {
	case name == "proc/sys/kernel/hostname":
		return "captured\n"
	case name == "proc/cmdline":
		return keepWords(text, func(word string) bool {
			option, _, _ := strings.Cut(word, "=")
			return slices.Contains(bootNames(), option)
		})
	case name == "proc/mounts":
		return keepLines(text, func(line string) bool {
			f := strings.Fields(line)
			return len(f) > 2 && (f[2] == "cgroup" || f[2] == "cgroup2" || f[2] == "tracefs")
		})
	case name == "proc/version":
		// Behind the release stands who built it, and where.
		release, _, _ := strings.Cut(text, " (")
		return strings.TrimSpace(release) + "\n"
	case name == "proc/cpuinfo":
		return keepLines(text, func(line string) bool { return !strings.HasPrefix(line, "Serial") })
	case process && base == "environ":
		return keepVariables(text)
	case process && base == "status":
		return keepLines(text, func(line string) bool {
			return strings.HasPrefix(line, "Cpus_allowed_list:") || strings.HasPrefix(line, "Speculation_")
		})
	case process && base == "stat" && name != "proc/stat":
		return keepStat(text)
	default:
		return text
	}
}

func keepLines(text string, wanted func(string) bool) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if wanted(line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// keepWords stops at "--": what follows is for init.
func keepWords(text string, wanted func(string) bool) string {
	words := []string{}
	for word := range strings.FieldsSeq(text) {
		if word == "--" {
			break
		}
		if wanted(word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ") + "\n"
}

func keepVariables(environ string) string {
	var kept []string
	for _, name := range []string{"container", "IRQBALANCE_BANNED_CPULIST"} {
		if value := variable(environ, name); value != "" {
			kept = append(kept, name+"="+value)
		}
	}
	return strings.Join(kept, "\x00")
}

// keepStat zeroes the fields that no check reads: among them are addresses of the program, which
// would tell where it lies in memory.
func keepStat(text string) string {
	end := strings.LastIndexByte(text, ')')
	if end < 0 {
		return text
	}
	f := strings.Fields(text[end+1:])
	for i := range f {
		// As numbered in parseStat: state, parent, flags, threads, CPU, policy.
		if !slices.Contains([]int{0, 1, 6, 17, 36, 38}, i) {
			f[i] = "0"
		}
	}
	return text[:end+1] + " " + strings.Join(f, " ") + "\n"
}
