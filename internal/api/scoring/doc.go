// Package scoring computes the verdicts and scores of groups and of a problem from those of tests, and decides which
// tests still count. It implements the rules of the problem package formats, and does not depend on how tests are run.
package scoring
