// Package job is the model: what a platform asks for (Job), what a run was
// (Run, Evidence), what was decided from it (Verdict, Timing) and how all of
// that is reported (Report). It holds the JSON names and nothing that acts.
//
// Times are integers in nanoseconds and sizes integers in bytes wherever they
// leave Go. A value that could not be measured is a nil pointer and absent in
// JSON; zero means measured and zero.
package job
