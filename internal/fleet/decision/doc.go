// Package decision decides whose report ends a job: which pool judges it, and whether further hosts judge it before it
// ends. Times are never scaled. All state is in the database.
//
// A Screen decides which jobs of a screening pool its own nodes decide, and which the deciding pool decides. The ratio
// of times only selects the pool. A front reads the state of a Screen again every few seconds.
//
//	route    sends a new job to the screening pool if the ratio of times is known, otherwise to the deciding pool
//	finish   accepts a report of the screening pool, or forwards the job and keeps the report
//	learn    has jobs that the deciding pool has judged judged again in the screening pool
//	check    has a share of accepted jobs judged again in the deciding pool; a difference closes the screen
//
// Package audit creates the copies for the last two and compares them.
//
// A Verifier has contest jobs whose time is near the limit judged on a second host before they end. If the two hosts
// differ, a third one judges, and two of three decide. A job ends once, with one report. Until then, the reports of the
// previous hosts are stored as other jobs, and the job is queued for a host that has not judged it.
package decision
