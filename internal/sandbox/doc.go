// Package sandbox runs a single program: Prepare a sandbox in advance, Load it with a program, Run it, Close
// it. No part of a sandbox is reused.
//
// Package initproc describes the processes and their messages. This package decides when a run is stopped and
// what is read from it; package measure interprets the results.
//
// An error means that judged failed. The outcome of the program is in the Result.
package sandbox
