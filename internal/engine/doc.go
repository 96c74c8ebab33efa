// Package engine is a host made ready for judging: slots planned from its
// topology, the process itself confined to the housekeeping CPUs, control
// groups, the launcher of sandboxes, and a worker for each slot. It also says
// what reports tell about the host, and whether a strict engine may judge at
// all.
//
// judged run opens one for a single job, the daemon one for its life.
package engine
