// Package measure runs one test as often as its rule asks and reports the result: the verdict of each run by
// precedence, evidence of what disturbed it, and the Timing computed from the runs that count.
//
// A Worker makes the runs: it has one slot, the counters of its CPUs and the next sandbox, prepared in advance. A
// second worker, which Request.Place finds, may make a run that confirms another. Package judge decides which tests
// run, and in which order. A Canary runs reference kernels on a worker, which show what the slot is like.
package measure
