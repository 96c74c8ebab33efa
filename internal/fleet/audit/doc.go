// Package audit judges a share of all jobs a second time on another node of the pool, and takes a node out of use if
// its times deviate from those of the others.
//
//	sample    chooses finished jobs by a salted hash, and queues them again at the lowest priority
//	compare   computes one ratio of times for each audit, from undisturbed runs
//	detect    runs the detector every hour on the audits of a pool
//	confirm   has a suspect and three other nodes judge the same jobs; only that drains a node
//
// The detector knows nothing of jobs. Its data are pairs: two hosts, and the logarithm of the ratio of their times. A
// logarithm of 0.02 means two percent slower.
//
//	FitPairs    estimates how much slower each host is than the pool: robust least squares over the graph of pairs
//	Detect      finds hosts that deviate by more than equal hosts differ and noise explains
//	FindChange  finds since when a host has been slower or faster
//	Confirm     checks whether interleaved runs on other hosts show the same
//
// Of all fronts that share a database, one does this, see jobs.Store.Lead. All state is in the database.
package audit
