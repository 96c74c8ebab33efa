// Package dispatch assigns jobs to slots. It waits for a free slot, takes the most urgent job from its queue, has it
// judged, and stores the report:
//
//	slot free -> Queue.Take -> Engine.Judge -> slot free -> Queue.Finish
//
// Each attempt at a job holds a lease and extends it. An attempt that loses the lease, because the job was cancelled or
// another attempt has it, ends immediately, and the queue accepts nothing more from it. If the queue cannot store a
// report, the attempt retries until it can. A job that could not be judged is returned.
//
// A slot is not leased while no job waits, so an idle slot can be seen, drained and borrowed. slothealth decides
// through Health which slots may be used.
package dispatch
