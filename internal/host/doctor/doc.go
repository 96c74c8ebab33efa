// Package doctor reports whether a host is ready to judge. Its checks are the rows of the catalogue (package
// settings). Most compare values in kernel files with the wanted values; the others are functions.
//
// If a file is missing, the result is skip or unknown, never pass; if it cannot be read, the result is warn.
// Kernel counters are read twice, a window apart, if there is time: only their growth is evaluated.
//
// Belongs here: static checks, the report, its table for people, the manual deploy/HOST.md, the fixes that
// depend on the host, the properties that run times depend on (the fingerprint), and the capture of the files that
// all of these read.
//
// Does not belong here: the texts and wanted values (settings), changing anything (tune), running anything
// (lab/probe), sampling over time (measure, evidence). Package doctor only opens files for reading.
package doctor
