// Package deviation finds the host of a pool whose times differ from those of the others. Its data are audits: the
// same program judged on two hosts, and the logarithm of the ratio of the two times.
//
//	FitPairs    by how much each host is slower than the pool: robust least squares over the graph of pairs
//	Detect      the hosts that deviate, by more than equal hosts differ and noise explains
//	FindChange  since when a host is slower or faster than it was
//	Confirm     whether interleaved runs on other hosts show the same
//
// All figures are natural logarithms of ratios: 0.02 is two percent slower.
//
// Not here: which jobs are audited, and what follows from a deviation (package audit of the fleet).
package deviation
