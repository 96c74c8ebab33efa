// Package judge0 serves the HTTP interface of Judge0 1.13, so that a site written for Judge0 uses judged by a change of
// its address.
//
// A submission is a job with one test. Its token is a UUID, from which the job's ID follows; what was asked and is not
// in the job otherwise is kept with the job, as its origin.
//
// Not here: authorization, limits of requests and the acceptance of jobs (httpapi), and what jobs mean (jobspec,
// judge).
// Nothing below this package knows Judge0.
package judge0
