// Package slothealth decides which slots are fit to judge on.
//
// A Monitor runs reference kernels (canaries) on idle slots, and receives the runs of every job. The results are stored
// for each slot, across restarts. A slot whose canaries have left their baseline, or whose runs are disturbed too
// often, is quarantined until it has recovered. The spread of the readings of healthy slots determines the guard band
// around time limits. Runs that confirm another get a quiet slot, or another core, if available.
//
// Not here: the states of a slot (host/slots), the statistics (timing), the reference kernels (engine/measure), and
// which job runs next (dispatch).
package slothealth
