// Package intake makes the jobs that enter the queue.
//
//	Intake     turns a platform's submission into a job that can be stored: it adds the content of a stored problem,
//	           validates the result, stores files as blobs and fills in defaults
//	Rejudger   fills rejudgings: it selects the jobs that a request names or filters, and queues each of them again, in
//	           small steps and using at most half of the queue. An interrupted step is continued by this process or by
//	           another one that shares the database
//
// Not here: decoding submissions and reporting errors (httpapi), validation of jobs (jobspec), and the queue (jobs).
package intake
