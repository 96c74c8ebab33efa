// Package intake turns what a platform sends into a job that can be stored: it adds what a stored problem has, checks the
// whole, stores files as blobs and fills in defaults.
//
// Belongs here: what every door for submissions has in common.
//
// Does not belong here: how a submission is decoded and an error is answered (httpapi), what a job may say (jobspec), and
// the queue (jobs).
package intake
