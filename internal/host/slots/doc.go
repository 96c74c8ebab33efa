// Package slots decides which CPUs are used for judging, and manages who uses them.
//
// Belongs here: the plan, a pure function from a topology to disjoint sets of CPUs; the claim, which keeps
// other judged processes of the machine off them; and the pool, which leases slots and takes them out of use. A
// slot is in use while it has no hold. A hold has a cause and is lifted by that cause only. Callers queue for
// any slot, for a certain slot, or for a slot without busy neighbours; nothing else blocks. Jobs have priority
// over examinations.
//
// Does not belong here: when a slot is taken out of use (dispatch, the operator), what runs on it, and how it
// is enforced (cgroup, sandbox).
package slots
