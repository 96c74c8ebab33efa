// Package front is a front's side of a fleet. A front has the database and serves HTTP; see package judge for the other
// side. The package has the stored state of nodes and pools, and the decisions that follow from it.
//
// A Registry tracks which judge nodes and pools have registered, which of them get jobs, and which blobs they should
// fetch.
//
// The other parts have jobs judged by more than one host, and decide what follows. Times are never scaled. All state is
// in the database.
//
// An Auditor has a share of all jobs judged a second time on another node of the pool, and takes a node out of use if
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
//	fitPairs     estimates how much slower each host is than the pool: robust least squares over the graph of pairs
//	detectHosts  finds hosts that deviate by more than equal hosts differ and noise explains
//	findChange   finds since when a host has been slower or faster
//	confirmHost  checks whether interleaved runs on other hosts show the same
//
// Of all fronts that share a database, one does this, see jobs.Store.Lead.
//
// A Screen decides which jobs of a screening pool its own nodes decide, and which the deciding pool decides. The ratio
// of times only selects the pool. A front reads the state of a Screen again every few seconds.
//
//	route    sends a new job to the screening pool if the ratio of times is known, otherwise to the deciding pool
//	finish   accepts a report of the screening pool, or forwards the job and keeps the report
//	learn    has jobs that the deciding pool has judged judged again in the screening pool
//	check    has a share of accepted jobs judged again in the deciding pool; a difference closes the screen
//
// The Auditor creates the copies for the last two and compares them.
//
// A Verifier has contest jobs whose time is near the limit judged on a second host before they end. If the two hosts
// differ, a third one judges, and two of three decide. A job ends once, with one report. Until then, the reports of the
// previous hosts are stored as other jobs, and the job is queued for a host that has not judged it.
//
// Not here: HTTP (httpapi), and jobs (package jobs).
package front
