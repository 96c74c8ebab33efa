// Package dispatch assigns jobs to slots, and decides which slots are fit to judge on.
//
// A Dispatcher waits for a free slot, takes the most urgent job from its queue, has it judged, and stores the report:
//
//	slot free -> Queue.Take -> Engine.Judge -> slot free -> Queue.Finish
//
// Each attempt at a job holds a lease and extends it. An attempt that loses the lease, because the job was cancelled or
// another attempt has it, ends immediately, and the queue accepts nothing more from it. If the queue cannot store a
// report, the attempt retries until it can. A job that could not be judged is returned.
//
// A slot is not leased while no job waits, so an idle slot can be seen, drained and borrowed.
//
// A Monitor runs reference kernels (canaries) on idle slots, and receives the runs of every job. The results are stored
// for each slot, across restarts. A slot whose canaries have left their baseline, or whose runs are disturbed too
// often, is quarantined until it has recovered. The spread of the readings of healthy slots determines the guard band
// around time limits. Runs that confirm another get a quiet slot, or another core, if available.
//
// Not here: the states of a slot (host/slots), the statistics (timing), and the reference kernels (engine/measure).
package dispatch
