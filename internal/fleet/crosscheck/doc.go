// Package crosscheck has contest jobs whose time is near the limit judged on a second host before they end. If the two
// hosts differ, a third one judges, and two of three decide. A job ends once, with one report. Until then, the reports
// of the previous hosts are stored as other jobs, and the job is queued for a host that has not judged it.
package crosscheck
