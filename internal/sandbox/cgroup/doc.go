// Package cgroup holds the control groups of runs: one Group per run over the
// unified hierarchy (v2), the hybrid one (v1 controllers beside a v2 mount
// without any) and the legacy one (v1 only).
//
//	judged-PID-START/        Tree: one per judged process, swept when that is gone
//	    cpu1/                Slot: cpuset of a slot, lives as long as the tree
//	        run7/            Group: one run
//
// The tree is below the root of v2, or below the unit of a daemon that has its
// own; the slots on CPUs of a partition that judged tune made are below that,
// because the kernel gives its CPUs to nobody else.
//
// On v2 and hybrid hosts a run is born into its group with CLONE_INTO_CGROUP
// and killed with cgroup.kill; v1 controllers are joined by the run itself,
// which writes "0" into their tasks files while it still has one thread.
// Attaching it from outside by pid would take cgroup_threadgroup_rwsem for
// writing, which is an RCU grace period: 5 to 15 ms.
//
// On v2 a group is fresh for every run; on hybrid and legacy hosts its memory
// folder is, and the others serve one run after the other until one of them had
// to be killed.
//
// containerd/cgroups detects the host's mode, sets slots up and says which
// controllers they get. Birth, kill, peak and the reading on the hot path are
// done here: the library has no file handles to keep open, and its Stat costs
// six times as much as the three files that a run needs.
package cgroup
