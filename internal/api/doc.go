// Package api is the data model with its JSON names: what a platform submits (Job), what a run was (Run, Evidence), what
// was decided from it (Verdict, Timing), and the report about all of that (Report).
//
// Outside of Go times are integers in nanoseconds and sizes are integers in bytes. A value that could not be measured is a
// nil pointer and absent in JSON; zero means measured and zero.
package api
