// Package crosscheck has jobs of a contest whose time is near the limit judged on a second host before they end. If both
// hosts differ, a third one judges, and two of three decide. A job ends once, with one report: until then the reports of
// the hosts before are kept as other jobs, and the job is queued for a host that has not judged it.
package crosscheck
