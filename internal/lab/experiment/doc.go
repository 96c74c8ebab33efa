// Package experiment repeats published experiments about running time on this host, with its own programs, and shows
// the published figures next to the measured ones. It also measures the purpose of judged: how often a time verdict
// near the limit is wrong, with judged and without.
//
// It defines which programs run where, the published figures, and the columns that show both.
//
// Not here: how runs are made, placed and summarized (package bench).
package experiment
