// Package judge judges one job on one worker: it runs the tests in order, each measured and checked, until the stop
// rule ends the job, and computes the report from them.
//
// It knows files by their paths on this host. Whether they come from the blob store or from a user's disk is decided
// by its callers.
package judge
