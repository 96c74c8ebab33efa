// Package probe tests slots: doctor reads what the kernel reports, and this package runs judged's own programs where
// solutions will run, in the same sandbox.
//
// It defines which programs run, for how long, and what their results mean; the outcomes become rows of doctor's
// report.
//
// Not here: checks that only read (doctor), what disturbed a single run (evidence), and watching slots while they judge
// (dispatch). The slots must be idle, which the caller ensures.
package probe
