// Package front is a front's side of a fleet: it knows the judge nodes and pools that have registered, which of them get
// jobs, and what they are to fetch. A front has the database and answers over HTTP; see package judge for the other side.
//
// Belongs here: what is stored about nodes and pools, and what follows from it.
//
// Does not belong here: HTTP (httpapi), and jobs (package jobs).
package front
