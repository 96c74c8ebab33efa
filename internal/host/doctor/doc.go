// Package doctor says whether a host is fit to judge. Its checks are the rows of the catalogue (package settings): for
// most it compares the values in the kernel's files with the wanted ones, for the others it has a function that looks.
//
// A missing file is skip or unknown, never pass; one that cannot be read is warn. What the kernel only counts is read
// twice, a window apart, where there is time for it: the growth is the present, the rest is the past.
//
// Belongs here: static checks, the report, its table for people, the manual deploy/HOST.md, the fixes that depend on
// the host, and the capture of what the checks read.
//
// Does not belong here: the texts and wanted values (settings), changing anything (tune), running anything (lab/probe),
// sampling over time (canary, evidence). Doctor only opens files for reading.
package doctor
