package topology

import (
	"strconv"
	"strings"

	"judged/internal/base/units"
)

// cgroup2Mount finds where the v2 hierarchy is mounted: "" if nowhere. The first mount wins, as a
// later one on another path is a bind mount of a part of it.
func cgroup2Mount(mounts string) string {
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) >= 3 && f[2] == "cgroup2" {
			return unescapeMount(f[1])
		}
	}
	return ""
}

// unescapeMount undoes the octal escapes that /proc/mounts uses for space, tab, newline and
// backslash.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// memTotal finds the size of memory in /proc/meminfo ("MemTotal: 1024 kB") or in a node's meminfo
// ("Node 0 MemTotal: 1024 kB"). The kernel's kB are KiB.
func memTotal(meminfo string) units.Bytes {
	for line := range strings.Lines(meminfo) {
		_, rest, found := strings.Cut(line, "MemTotal:")
		if !found {
			continue
		}
		f := strings.Fields(rest)
		if len(f) != 2 || f[1] != "kB" {
			return 0
		}
		kib, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil || kib < 0 || kib > 1<<53 {
			return 0
		}
		return units.Bytes(kib << 10)
	}
	return 0
}

// model finds the name of the processor in /proc/cpuinfo: "model name" on x86, "cpu" on POWER,
// "Model" on some ARM boards, and else ARM's numbers of implementer and part.
func model(cpuinfo string) string {
	first := map[string]string{}
	for line := range strings.Lines(cpuinfo) {
		key, value, found := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		if _, seen := first[key]; found && !seen {
			first[key] = strings.TrimSpace(value)
		}
	}
	for _, key := range []string{"model name", "cpu", "Model", "cpu model"} {
		if first[key] != "" {
			return first[key]
		}
	}
	if part := first["CPU part"]; part != "" {
		return "implementer " + first["CPU implementer"] + " part " + part
	}
	return ""
}
