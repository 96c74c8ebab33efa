// Package dispatch brings jobs and slots together. It waits for a free slot,
// takes the most urgent job from its queue, has it judged there, and hands in
// the report:
//
//	slot free -> Queue.Take -> Engine.Judge -> slot free -> Queue.Finish
//
// Each attempt at a job holds a lease that it extends. An attempt that loses it,
// because the job was cancelled or another attempt has it, ends at once, and the
// queue accepts nothing from it any more. A report is kept and handed in again
// for as long as the queue cannot store it; a job that could not be judged is
// returned.
//
// A slot is not leased while no job waits, so that an idle slot can be seen,
// drained and borrowed. slothealth decides through Health which slots may be
// used.
package dispatch
