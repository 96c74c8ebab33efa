// Package measure runs one test as often as its rule asks and says what came
// of it: a verdict for each run by precedence, evidence of what disturbed it,
// and the Timing that the kept runs add up to.
//
// A Worker is where that happens: one slot with its instruments and with the
// next sandbox already prepared. Runs that confirm another may be on a second
// worker, which Request.Place finds. Which tests there are, and in which order, is
// package judge's.
package measure
