// Package front is a front's side of a fleet: it tracks which judge nodes and pools have registered, which of them get
// jobs, and which blobs they should fetch. A front has the database and serves HTTP; see package judge for the other
// side.
//
// It has the stored state of nodes and pools, and the decisions that follow from it.
//
// Not here: HTTP (httpapi), and jobs (package jobs).
package front
