// Package screen decides which jobs of a screening pool its own nodes decide, and which the deciding pool decides.
// Times are never scaled: the ratio of times only selects the pool.
//
//	route    sends a new job to the screening pool if the ratio of times is known, otherwise to the deciding pool
//	finish   accepts a report of the screening pool, or forwards the job and keeps the report
//	learn    has jobs that the deciding pool has judged judged again in the screening pool
//	check    has a share of accepted jobs judged again in the deciding pool; a difference closes the screen
//
// Package audit creates the copies for the last two and compares them. All state is in the database, and a front reads
// it again every few seconds.
package screen
