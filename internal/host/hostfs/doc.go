// Package hostfs reads and writes the files through which the kernel shows itself: /proc, /sys and
// the cgroup file systems, below one root.
//
// Belongs here: how such files are opened, read in one go, written in one go, listed, and how their
// errors look. Callers speak in absolute host paths ("/proc/stat"); only this package knows whether
// those lie on the live machine, in a directory or in a capture of another host, how a capture is
// taken and how one of a stranger is read safely.
//
// Does not belong here: what any of the files mean. That is the business of topology, turbo, cgroup,
// evidence and the others above.
package hostfs
