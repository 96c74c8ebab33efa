// Package turbo reports whether the processor may exceed its nominal frequency. It is called before each lease,
// so it reads only a few files.
//
// Belongs here: the switches of intel_pstate, acpi-cpufreq and amd_pstate and their combined meaning.
//
// Does not belong here: switching turbo off (tune), and whether turbo makes the host unfit (doctor).
package turbo
