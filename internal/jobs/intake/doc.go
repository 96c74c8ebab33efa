// Package intake turns requests into jobs that can be judged, and puts jobs into the queue.
//
//	Decode     reads the JSON of a request strictly, and names the member of each error
//	Complete   fills in defaults from the configuration, and refuses jobs that no host could judge. The daemon, judged
//	           run and judged submit use it, so they accept the same jobs
//	Intake     turns a platform's submission into a job that can be stored: it adds the content of a stored problem,
//	           completes the result and stores files as blobs
//	Rejudger   fills rejudgings: it selects the jobs that a request names or filters, and queues each of them again, in
//	           small steps and using at most half of the queue. An interrupted step is continued by this process or by
//	           another one that shares the database
//
// Not here: receiving submissions and reporting errors (httpapi), and the queue (jobs).
package intake
