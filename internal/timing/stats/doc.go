// Package stats computes how much repeated times vary, what they prove about a limit (Rule), by how much two sets of them
// differ (Compare) and whether a slot has changed (Chart). It is arithmetic on durations and runs nothing. Rule.Weigh
// decides which runs count; how much noise can have added to each is computed in package evidence.
//
// Mean and standard deviation are not used: times have a long tail on one side, and a single outlier changes both.
package stats
