// Package screen decides which jobs of a screening pool its own nodes decide, and which the deciding pool does. A time is
// never scaled: the ratio of times only routes.
//
//	route    a new job: to the screening pool if the ratio of times is known, else to the deciding pool
//	finish   a report of the screening pool: it stands, or the job is forwarded and the report kept
//	learn    jobs that the deciding pool has judged are judged once more in the screening pool
//	check    a share of what was accepted is judged once more in the deciding pool; what differs closes the screen
//
// Package audit makes the copies of the last two and compares them. All state is in the database, and a front reads it again
// every few seconds.
package screen
