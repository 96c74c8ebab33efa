// Package samples reads testdata/samples.json, the programs with known
// verdicts, builds them, and makes jobs of them whose files are paths of this
// host. Tests get everything from Load; make demo, which has no test to fail,
// uses Read and Build.
//
// What a verdict is compared with is here as data. Judging is not.
package samples
