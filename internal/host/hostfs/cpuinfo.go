package hostfs

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
)

// CPUInfo returns the value of key for the first processor or the machine in /proc/cpuinfo, or "".
func CPUInfo(cpuinfo, key string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// CPUFlags returns the features of the first processor in /proc/cpuinfo, and whether it is an x86 processor.
func CPUFlags(cpuinfo string) (flags []string, x86 bool) {
	if flags = strings.Fields(CPUInfo(cpuinfo, "flags")); len(flags) > 0 {
		return flags, true
	}
	return strings.Fields(CPUInfo(cpuinfo, "Features")), false // ARM
}

// HasCPUFlag reports whether the first processor in /proc/cpuinfo has a feature.
func HasCPUFlag(cpuinfo, flag string) bool {
	flags, _ := CPUFlags(cpuinfo)
	return slices.Contains(flags, flag)
}

// KernelConfig returns the configuration that the running kernel was built with; "" if the host does not show it.
func KernelConfig(h FS, release string) string {
	if b, err := h.ReadFile("/proc/config.gz"); err == nil {
		if text, err := gunzip(b); err == nil {
			return text
		}
	}
	for _, p := range []string{"/boot/config-" + release, "/lib/modules/" + release + "/config"} {
		if text, err := h.Read(p); err == nil {
			return text
		}
	}
	return ""
}

// gunzip limits the size of its output. The largest configurations have less than 400 KiB.
func gunzip(b []byte) (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r, 4<<20))
	return string(text), err
}
