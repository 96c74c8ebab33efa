// Package stats computes how much repeated times vary, what they prove about a limit (Rule), by how much two sets of
// them differ (Compare) and whether a slot has changed (Chart). It only computes with durations and runs nothing.
// Rule.Weigh decides which runs count; package evidence computes how much noise can have added to each.
//
// Mean and standard deviation are not used: times have a long tail on one side, and a single outlier changes both.
package stats
