// Package experiment repeats published experiments about running time on this
// host, with its own programs, and shows the published figures next to what
// it measured. It also measures what judged is for: how often a time verdict
// near the limit is wrong, with judged and without.
//
// How runs are made, placed and summed up is package bench's. Here is which
// programs run where, what was published about it, and which columns show it.
package experiment
