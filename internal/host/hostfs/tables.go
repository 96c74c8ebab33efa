package hostfs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/units"
)

// Mount is one line of a mount table.
type Mount struct {
	ID, Root string // only from mountinfo
	Point    string
	FSType   string
	Source   string
	Options  []string // of the file system; from /proc/mounts, also of the mount
}

// Has reports whether the mount has an option.
func (m Mount) Has(option string) bool { return slices.Contains(m.Options, option) }

// Mounts parses /proc/mounts: source, mount point, type, options. It skips malformed lines.
func Mounts(text string) []Mount {
	var all []Mount
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 4 {
			all = append(all, Mount{Source: unescape(f[0]), Point: unescape(f[1]), FSType: f[2],
				Options: strings.Split(f[3], ",")})
		}
	}
	return all
}

// FindMount returns the mount point of the first mount with this type and option. An empty option matches any
// mount.
func FindMount(all []Mount, fsType, option string) (point string, ok bool) {
	i := slices.IndexFunc(all, func(m Mount) bool { return m.FSType == fsType && (option == "" || m.Has(option)) })
	if i < 0 {
		return "", false
	}
	return all[i].Point, true
}

// MountInfo parses /proc/PID/mountinfo:
// "id parent dev root point options [optional…] - type source superoptions".
func MountInfo(text string) ([]Mount, error) {
	var all []Mount
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 6 || len(right) < 2 {
			return nil, fmt.Errorf("parse mountinfo: unknown form of line %q", line)
		}
		m := Mount{ID: left[0], Root: unescape(left[3]), Point: unescape(left[4]), FSType: right[0],
			Source: unescape(right[1])}
		if len(right) > 2 {
			m.Options = strings.Split(right[2], ",")
		}
		all = append(all, m)
	}
	return all, nil
}

// unescape undoes the octal escapes that the kernel's seq_path writes for white space and backslashes: \040 is a space.
func unescape(name string) string {
	if !strings.Contains(name, `\`) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' && i+3 < len(name) {
			if c, err := strconv.ParseUint(name[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// Cgroups parses /proc/PID/cgroup, "3:cpuset:/a" for v1 and "0::/a" for v2. It returns paths by controller; the
// key for v2 is "".
func Cgroups(text string) map[string]string {
	groups := map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		for controller := range strings.SplitSeq(f[1], ",") {
			groups[controller] = f[2]
		}
	}
	return groups
}

// Swap is one area of /proc/swaps.
type Swap struct {
	Path     string
	Used     units.Bytes
	Priority int
}

// Swaps parses /proc/swaps: a heading, then path, type, size and use in KiB, and priority.
func Swaps(text string) ([]Swap, error) {
	var all []Swap
	heading, rest, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(heading, "Filename") { // it is also there without any area
		return nil, fmt.Errorf("parse swaps: the first line %q is not the heading", heading)
	}
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, "\n")
		f := strings.Fields(line)
		if len(f) != 5 {
			return nil, fmt.Errorf("parse swaps: %d words in %q, want 5", len(f), line)
		}
		used, err1 := strconv.ParseInt(f[3], 10, 53)
		priority, err2 := strconv.Atoi(f[4])
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("parse swaps: %w", err)
		}
		all = append(all, Swap{unescape(f[0]), units.Bytes(used) << 10, priority})
	}
	return all, nil
}

// Meminfo returns the value of a line such as "MemTotal: 1024 kB", or for a node "Node 0 MemTotal: …". It returns
// 0 for a missing line.
func Meminfo(text, key string) units.Bytes {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if n := len(f); n >= 3 && f[n-3] == key+":" && f[n-1] == "kB" {
			if kib, err := strconv.ParseInt(f[n-2], 10, 53); err == nil && kib > 0 {
				return units.Bytes(kib) << 10
			}
		}
	}
	return 0
}
