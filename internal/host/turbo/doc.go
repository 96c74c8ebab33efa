// Package turbo reports whether the processor may run above its nominal frequency. It is asked again
// before every lease, so it reads a handful of files and nothing else.
//
// Belongs here: the switches of intel_pstate, acpi-cpufreq and amd_pstate and what they mean
// together.
//
// Does not belong here: turning it off (tune), and whether that makes the host unfit (doctor).
package turbo
