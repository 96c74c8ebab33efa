// Package jury runs the programs of the jury: checkers and interactors. They
// run in sandboxes like the programs of contestants, with separate limits
// and on housekeeping CPUs, so that nothing of them is billed to a contestant
// or runs on the CPUs of a slot.
//
// A program of the jury that fails, whatever the reason, yields the verdict IE
// and never one about the contestant. Here belong the protocols: how programs
// are called and what their exit codes, messages and scores mean. What a
// verdict means for a test is decided by the callers.
package jury
