// Package settings is the catalogue of everything on a host that changes how long a program takes: one row for each
// setting, with what it costs when it is wrong, the value that judged wants, the files of the kernel that hold it, how
// to see it, how to set it now and at boot, and what setting it risks.
//
// doctor's checks, the settings of tune, the profile of boot, deploy/HOST.md, judged doctor --explain and the labels of
// the metrics are views of this catalogue. The ids are promised to operators; they never change their meaning.
//
// Belongs here: the rows, the rules for wanted values, and the layout of the CPUs that the rules depend on.
//
// Does not belong here: judging a host (doctor) and changing it (tune). Nothing here writes.
package settings
