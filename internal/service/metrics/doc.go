// Package metrics holds every metric of judged: names, help, buckets and labels in metrics.go, what
// is computed at each scrape in state.go, and how a finished job becomes figures in record.go.
//
// Belongs here: the registry and its HTTP handler. Does not belong here: how anything is measured;
// figures come in as reports, numbers and functions.
//
// Labels take their values from closed sets, or name a CPU, a slot, a check or a reference kernel of
// this host. No label ever names a job, a problem or a user. A rename is a breaking change: the
// golden exposition in testdata, the rules and the dashboard in deploy/ change with it.
package metrics
