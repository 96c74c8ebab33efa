// Package attacks reads and builds the attack suite, testdata/attacks: one C
// program for each way to get out of the sandbox, to use more than was given or
// to pass a bit to another run, and next to it as data what must come of it.
//
// A program ends by held or broke of attack.h, or by the verdict that stops it.
// What must be true outside of the sandbox afterwards is the driver's to look
// at, for every attack alike; the driver is a test of package judge.
package attacks
