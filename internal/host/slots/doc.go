// Package slots says which CPUs are judged on, and who holds them now.
//
// Belongs here: the plan, a pure function from a topology to disjoint sets of
// CPUs; the claim, which keeps other judged processes of the machine off them; and
// the pool, which leases them and takes them out of use. A slot is in
// use while nothing holds it back; a hold has a cause, and is lifted by the one
// that cause names. The pool has a line of those who wait, for any slot, for a
// certain one, or for one where nothing works beside it; the only thing that
// blocks is waiting in line. Whoever examines a slot gives way to whoever judges.
//
// Does not belong here: when a slot is held back (slothealth, the
// operator), what runs on it, and how it is enforced (cgroup, sandbox).
package slots
