// Package scoring turns the verdicts and scores of tests into those of groups and of a problem, and says which tests still
// count. It knows the rules of the problem package formats and nothing about how tests are run.
package scoring
