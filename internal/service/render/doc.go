// Package render formats reports for people: the table of a job's tests, the cells of such tables, and a progress line.
// judged run, judged submit and make demo share it.
//
// It makes no decisions. Programs read the JSON instead.
package render
