// Package rejudge fills rejudgings: it selects the jobs that a request names or filters, and queues each of them again,
// in small steps and using at most half of the queue. An interrupted step is continued by this process or by another
// one that shares the database.
package rejudge
