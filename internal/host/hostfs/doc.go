// Package hostfs reads and writes kernel interface files below one root: /proc, /sys and the cgroup file
// systems. It parses those that several packages read: /proc/PID/stat, status, cgroup, limits and environ, mount
// tables, /proc/swaps, meminfo, and the flags of /proc/cpuinfo. No other package parses these files.
//
// Belongs here: how such files are opened, read in one go, written in one go, listed, and how errors are
// reported. Callers use absolute host paths ("/proc/stat"). Only this package knows whether they refer to the
// live machine, a directory or a capture of another host, how a capture is made, and how an untrusted capture
// is read safely.
//
// Does not belong here: what the values mean. Packages machine, cgroup, evidence and others interpret them.
// Package evidence also parses the counters that are sampled around a run.
package hostfs
