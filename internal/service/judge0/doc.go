// Package judge0 serves the HTTP API of Judge0 1.13, so that a site written for Judge0 can use judged by changing only
// the URL.
//
// A submission is a job with one test. Its token is a UUID, from which the ID of the job is derived. Members of a
// submission that a job does not have are stored with the job as its origin.
//
// Not here: authorization, request limits and admission of jobs (httpapi), and the meaning of jobs (intake, judge). No
// lower package knows Judge0.
package judge0
