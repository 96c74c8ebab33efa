// Package rejudge fills rejudgings: it selects the jobs that a request names or filters, and queues each of them once
// more, in small steps and within half of the queue. A step that was interrupted is continued, by this process or by
// another one that shares the database.
//
// Not here: what a rejudging is, and what applying it changes (package jobs).
package rejudge
