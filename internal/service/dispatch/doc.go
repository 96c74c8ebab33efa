// Package dispatch brings jobs and slots together: it waits for an idle slot,
// takes the most urgent job, has it judged there, stores the report and only
// then lets go of the job. Whatever happens in between, the queue delivers the
// job again and the store's fence keeps the verdict single.
//
//	slot idle -> queue.Take -> store.Begin -> judge.Run -> store.Finish -> Ack -> slot idle
//
// A slot is not leased while the queue is empty, so that an idle slot can be
// seen, drained and borrowed; a job that was taken keeps its lease in the
// queue while it waits for a slot that was snatched away meanwhile.
//
// Which slots are fit to judge on is decided by slothealth, which dispatch asks
// through Health.
package dispatch
