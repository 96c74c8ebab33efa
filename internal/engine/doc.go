// Package engine prepares a host for judging: it plans the slots, moves the process itself to the housekeeping CPUs, and
// makes the control groups, the launcher of sandboxes and a worker for each slot. It also provides what reports say
// about the host, and whether a strict engine may judge at all.
//
// judged run opens an engine for one job, the daemon one for its lifetime.
package engine
