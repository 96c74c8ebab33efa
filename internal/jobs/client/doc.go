// Package client speaks to a judged daemon over HTTP: for the command line, and
// for whoever writes a platform in Go. It knows the routes and the model, and
// nothing of how the daemon works. Errors of the daemon are *Problem; all errors
// end with the next step.
package client
