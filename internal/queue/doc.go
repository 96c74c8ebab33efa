// Package queue is what waits for a slot: a work-queue stream in JetStream
// with one subject per job, jobs.<pool>.<priority>.<id>, and one pull consumer
// per pool and priority. A job stays in the stream until its delivery is
// acknowledged, so a crash delivers it again, and a second Put of a job that
// is there changes nothing.
//
// A lease on a job is a delivery that is not acknowledged yet. Embedded,
// leases live in the memory of this process, because they cannot outlive it:
// the consumers are made anew by Open and everything unacknowledged is
// delivered again at once, without waiting for AckWait. On a cluster they
// are the cluster's and end AckWait after the last Extend.
//
// Not here: what a job is, whether it is still wanted (store), who takes it
// (dispatch).
package queue
