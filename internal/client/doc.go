// Package client speaks to a judged daemon over HTTP: for the command line, and
// for platforms written in Go. It knows the routes and the model, but not how the
// daemon works. Errors of the daemon are *Problem; all errors
// end with the next step.
package client
