// Package client talks to a judged daemon over HTTP: for the command line, and for platforms written in Go. It depends
// on the routes and the model, but not on how the daemon works. Errors of the daemon are *Problem; all errors end with
// the next step.
package client
