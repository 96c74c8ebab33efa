// Package metrics holds every Prometheus metric of judged: names, help, buckets and labels are in metrics.go, gauges
// computed at each scrape in state.go, and counting finished jobs in record.go.
//
// Nothing is measured here: values arrive as reports, numbers and functions.
//
// Label values come from closed sets, or name a CPU, a slot, a check or a reference kernel of this host. A label never
// names a job, a problem or a user. Renaming a metric is a breaking change: the golden exposition in testdata and the
// rules and the dashboard in deploy/ change with it.
package metrics
