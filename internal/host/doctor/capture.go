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

// Capture writes the files that the checks read as a gzipped tar, for a bug report. hostfs opens it, and the
// checks then have the same results. It omits data that checks do not use: the host name, other words of the
// kernel command line and of environments, other mounts, serial numbers. It includes names of threads and
// cgroups.
func Capture(ctx context.Context, o Options, w io.Writer) error {
	var notes *hostfs.Recording
	o.FS, notes = o.FS.Record()
	o.capture = true
	if _, err := Run(ctx, o); err != nil {
		return err
	}
	// No check reads this file, but judged tune plan --root does if there is swap.
	_, _ = o.FS.ReadFile("/proc/meminfo")
	files := notes.Files()
	for name, f := range files {
		if !f.Mode.IsDir() && f.Mode.Perm() != 0 {
			f.Data = []byte(withoutSecrets(name, string(f.Data)))
		}
	}
	files["NOTE"] = &fstest.MapFile{Data: []byte(
		"Captured by judged doctor --capture: the files that its checks read, cut to what they use.\n"), Mode: 0o444}
	if err := hostfs.WriteArchive(w, files); err != nil {
		return fmt.Errorf("capture host: %w", err)
	}
	return nil
}

// withoutSecrets returns the part of a file that checks use.
func withoutSecrets(name, text string) string {
	process := strings.HasPrefix(name, "proc/")
	switch base := path.Base(name); {
	case name == "proc/sys/kernel/hostname":
		return "captured\n"
	case name == "proc/cmdline":
		return filterWords(text, func(name string) bool { return slices.Contains(bootNames(), name) })
	case name == "proc/mounts":
		return filterLines(text, func(line string) bool {
			m := hostfs.Mounts(line)
			return len(m) == 1 && slices.Contains([]string{"cgroup", "cgroup2", "tracefs"}, m[0].FSType)
		})
	case name == "proc/version":
		// The text after the release names the builder.
		release, _, _ := strings.Cut(text, " (")
		return strings.TrimSpace(release) + "\n"
	case name == "proc/cpuinfo":
		return filterLines(text, func(line string) bool { return !strings.HasPrefix(line, "Serial") })
	case process && base == "environ":
		return filterVariables(text)
	case process && base == "status":
		return filterLines(text, func(line string) bool {
			return strings.HasPrefix(line, "Cpus_allowed_list:") || strings.HasPrefix(line, "Speculation_")
		})
	case process && base == "stat" && name != "proc/stat":
		return hostfs.RedactStat(text)
	default:
		return text
	}
}

func filterLines(text string, wanted func(string) bool) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if wanted(line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// filterWords returns the wanted options of the kernel command line. It stops at "--", after which the arguments
// for init follow.
func filterWords(text string, wanted func(name string) bool) string {
	words := []string{}
	for word := range strings.FieldsSeq(text) {
		if word == "--" {
			break
		}
		if name, _, _ := strings.Cut(word, "="); wanted(name) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ") + "\n"
}

func filterVariables(environ string) string {
	var kept []string
	for _, name := range []string{"container", "IRQBALANCE_BANNED_CPULIST"} {
		if value := hostfs.ProcessVariable(environ, name); value != "" {
			kept = append(kept, name+"="+value)
		}
	}
	return strings.Join(kept, "\x00")
}
