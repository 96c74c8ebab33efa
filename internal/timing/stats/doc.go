// Package stats says how much repeated times vary, what they prove about a limit
// (Rule), how far two sets of them are apart (Compare) and whether a slot is
// still what it was (Chart). It is arithmetic on durations: it knows no runs, no
// causes of noise, no verdicts, and it never runs anything. Which runs are good
// enough to be counted is decided by the caller, before, without a look at the
// limit.
//
// The mean and the standard deviation are in none of it: times have a long tail
// to one side, and a single one would move both.
package stats
