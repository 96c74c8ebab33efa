// Package stats says how much repeated times vary and what they prove about a
// limit: dispersion, order statistics and the rule that decides near a limit.
// It is arithmetic on durations: it knows no runs, no causes of noise, no
// verdicts, and it never runs anything. Which runs are good enough to be
// counted is decided by the caller, before, without a look at the limit.
package stats
