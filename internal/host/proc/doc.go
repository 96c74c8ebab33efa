// Package proc is the only parser of /proc/PID/stat, status, cgroup, limits and
// environ, of mount tables, /proc/swaps, meminfo, and the flags of /proc/cpuinfo.
//
// It does not decide anything about what it reads, and it does not parse the
// counters that are sampled around a run (timing/evidence).
package proc
