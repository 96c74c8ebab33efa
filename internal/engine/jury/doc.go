// Package jury runs the programs of the jury: checkers, interactors and managers. They run in sandboxes like the
// programs of contestants, but with their own limits and on housekeeping CPUs, so that they use neither the time of a
// contestant nor the CPUs of a slot.
//
// A program of the jury that fails for any reason yields the verdict IE and never a verdict on the contestant. This
// package implements the protocols: how programs are called and what their exit codes, messages and scores mean.
// Callers decide what a verdict means for a test.
package jury
