// Package doctor says whether a host is fit to judge: a table of checks over what the kernel shows,
// each with what was found, what is wanted, what the difference costs and how to mend it.
//
// A check is data (id, title, severity, effect, fix) and a pure function from a view of the host to
// an Outcome. The ids are promised to operators and to metrics; they never change their meaning. A
// missing file is skip or unknown, never pass; one that cannot be read is warn.
//
// What the kernel only counts is looked at twice, a window apart, where there is time for it: what
// grew in between is now, the rest is past.
//
// Belongs here: static checks, the rows of what package probe tries out, the report, its table for
// people, the manual that is made from the same table (deploy/HOST.md), and the capture of what
// checks read.
//
// Does not belong here: changing anything (tune), running anything (probe), sampling over time
// (canary, evidence). Doctor opens files for reading and nothing else.
package doctor
