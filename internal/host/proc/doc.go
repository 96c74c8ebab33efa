// Package proc parses /proc/PID/stat, status, cgroup, limits and environ, mount tables, /proc/swaps, meminfo,
// and the flags of /proc/cpuinfo. No other package parses these files.
//
// It does not evaluate what it parses, and does not parse the counters that are sampled around a run
// (timing/evidence).
package proc
