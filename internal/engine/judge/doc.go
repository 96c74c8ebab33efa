// Package judge judges one job on one worker: its tests in order, each measured
// and checked, until the stop rule ends it, and the report folded from them.
//
// It knows files by their paths on this host. Where they come from, blobs or a
// user's disk, is decided above.
package judge
