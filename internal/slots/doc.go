// Package slots says which CPUs are judged on, and who holds them now.
//
// Belongs here: the plan, a pure function from a topology to disjoint sets of
// CPUs; the claim, which keeps other judged processes of the machine off them;
// and the pool, which leases them and takes them out of use. What the
// pool does is a table of states and a line of those who wait, for any slot, for
// a certain one, or for one where nothing works beside it; the only thing that
// blocks is waiting in line.
//
// Does not belong here: why a slot is drained or quarantined (dispatch, canary,
// the operator), what runs on it, and how it is enforced (cgroup, sandbox).
package slots
