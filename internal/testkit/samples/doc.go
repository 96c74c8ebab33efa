// Package samples reads testdata/samples.json, the programs with known verdicts, builds them, and creates jobs
// from them with paths of this host. Tests use Load; make demo, which is not a test, uses Read and Build.
//
// The package contains the expected results as data. It does not judge.
package samples
