// Package render shows reports to people: the table of a job's tests, the
// cells that such tables are made of, and a line that tells how far a job is.
// judged run, judged submit and make demo share it.
//
// It decides nothing, and it is not for programs: they read the JSON.
package render
