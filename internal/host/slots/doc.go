// Package slots decides which CPUs are judged on, and who has them now.
//
// Belongs here: the plan, a pure function from a topology to disjoint sets of
// CPUs; the claim, which keeps other judged processes of the machine off them; and
// the pool, which leases them and takes them out of use. A slot is in
// use while it has no hold; a hold has a cause, and only that cause lifts it. The
// pool has a queue of callers that wait for any slot, for a certain one, or for one
// without busy neighbours; nothing else blocks. Jobs go before examinations.
//
// Does not belong here: when a slot is taken out of use (slothealth, the
// operator), what runs on it, and how it is enforced (cgroup, sandbox).
package slots
