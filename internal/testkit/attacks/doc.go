// Package attacks reads and builds the attack suite, testdata/attacks: one C program for each way to escape
// from the sandbox, to exceed its limits or to pass information to another run, and next to it a file with the
// expected result.
//
// A program ends by calling held or broke of attack.h, or is stopped with a verdict. The driver checks the
// state outside of the sandbox afterwards, in the same way for all attacks; it is a test of package judge.
package attacks
