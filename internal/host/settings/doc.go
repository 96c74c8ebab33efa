// Package settings is the catalogue of host settings that affect how long a program takes. Each row has the
// cost of a wrong value, the wanted value, the kernel files, how to show it, how to set it now and at boot, and
// the risk of setting it.
//
// The checks of doctor, the settings and the boot configuration of tune, deploy/HOST.md, judged doctor --explain and
// the labels of the metrics are generated from this catalogue. IDs are stable: their meaning never changes.
//
// Belongs here: the rows, the rules for wanted values, and the CPU layout that the rules depend on.
//
// Does not belong here: evaluating a host (doctor) and changing it (tune). This package writes nothing.
package settings
