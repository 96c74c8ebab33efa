// Package cgroup manages the control groups of runs: one Group per run on the unified hierarchy (v2), the hybrid one
// (v1 controllers and a v2 mount without controllers) and the legacy one (v1 only).
//
//	judged-PID-START-PIDNS/           Tree: one per judged process, removed by the next judged if that process is gone
//	    cpu0mem0/                     Subtree: cpuset of a slot, lives as long as the tree
//	        run7/                     Group: one run
//	judged-PID-START-PIDNS-cpu1mem0/  Subtree of a preferred slot, which competes with the groups next to it
//	    run8/
//
// The tree is below the root of v2, or below the unit of a daemon that has its own group. Slots on CPUs of a
// partition that judged tune made are below that partition, because the kernel gives its CPUs to no other group.
//
// On v2 and hybrid hosts a run starts in its group (CLONE_INTO_CGROUP) and is killed with cgroup.kill. It joins v1
// controllers itself, by writing "0" to their tasks files while it still has one thread. Attaching it from outside by
// pid would take cgroup_threadgroup_rwsem for writing, which is an RCU grace period: 5 to 15 ms.
//
// On v2 every run gets a new group. On hybrid and legacy hosts every run gets a new memory folder; the other folders
// serve one run after the other until a run must be killed.
//
// containerd/cgroups detects the host's mode, sets up slots and enables their controllers. Starting, killing and
// measuring a run is done here: the library does not keep files open, and its Stat costs six times as much as the
// three files that a run needs.
package cgroup
