// Package measure runs one test as often as its rule asks and reports the result: the verdict of each run by
// precedence, evidence of what disturbed it, and the Timing computed from the runs that count.
//
// A Worker does the runs: it has one slot, the counters of its CPUs and the next sandbox, prepared in advance. A run
// that confirms another may be made by a second worker, which Request.Place finds. Which tests there are, and in which
// order, is decided in package judge.
package measure
