// Package deviation finds the host of a pool whose times differ from those of the others. Its data are audits: the same
// program judged on two hosts, and the logarithm of the ratio of the two times.
//
//	FitPairs    estimates how much slower each host is than the pool: robust least squares over the graph of pairs
//	Detect      finds hosts that deviate by more than equal hosts differ and noise explains
//	FindChange  finds since when a host has been slower or faster
//	Confirm     checks whether interleaved runs on other hosts show the same
//
// All figures are natural logarithms of ratios: 0.02 means two percent slower.
//
// Not here: which jobs are audited, and the consequences of a deviation (package audit of the fleet).
package deviation
