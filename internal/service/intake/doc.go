// Package intake turns a platform's submission into a job that can be stored: it adds the content of a stored problem,
// validates the result, stores files as blobs and fills in defaults.
//
// It has everything that the routes for submissions share.
//
// Not here: decoding submissions and reporting errors (httpapi), validation of jobs (jobspec), and the queue (jobs).
package intake
