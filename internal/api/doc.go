// Package api is the data model with its JSON names: what a platform submits (Job), the result of a run (Run,
// Evidence), the decisions derived from it (Verdict, Timing), and the report with all of that (Report). It implements
// the rules of the problem package formats, by which a Scheme computes the verdicts and scores of groups from those of
// tests.
//
// Outside of Go, times are integers in nanoseconds and sizes are integers in bytes. A value that could not be measured
// is a nil pointer and absent in JSON; zero is a measured value.
package api
