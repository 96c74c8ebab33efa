// Package probe tries out what a slot is like: doctor reads what the kernel shows, and this runs
// judged's own programs where solutions will run, in the same sandbox.
//
// Belongs here: which programs, for how long, and what their results mean; the outcomes become rows
// of doctor's report.
//
// Does not belong here: checks that read (doctor), what disturbed a single run (evidence), and
// watching slots while they judge (dispatch). The slots must be idle: the caller sees to that.
package probe
