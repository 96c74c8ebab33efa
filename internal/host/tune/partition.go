package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// groupName is that of the group that tune makes below the root of cgroup v2: a partition of the
// reserved CPUs, in which judged then makes the groups of its runs (package cgroup knows the name).
// All other groups, and so all other tasks, are left with the rest of the CPUs: it is the cpuset of
// the house at the same time.
const groupName = "judged"

func partitionKnobs() []knob {
	return []knob{{
		id: "sched-isolated", title: "partition of the reserved CPUs",
		why:  "the scheduler places any task on any CPU: spread 2230 -> 375 ms with isolated CPUs",
		risk: "nobody else can use the reserved CPUs; judged has to be stopped while the partition is made or removed",
		find: (*view).makePartition,
		valid: func(v *view, e entry) bool {
			return v.mount != "" && (e.Kind == partition && e.Path == path.Join(v.mount, groupName) ||
				e.Kind == controller && e.Path == path.Join(v.mount, "cgroup.subtree_control")) || validThread(v, e)
		},
	}}
}

// cpusetMount is where cgroup v2 is mounted, if the cpuset controller is in it.
func cpusetMount(h hostfs.FS) string {
	mounts, err := h.Read("/proc/mounts")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(mounts) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			have, err := h.Read(f[1] + "/cgroup.controllers")
			if err == nil && slices.Contains(strings.Fields(have), "cpuset") {
				return f[1]
			}
		}
	}
	return ""
}

func (v *view) makePartition() proposal {
	group := path.Join(v.mount, groupName)
	reserved := v.reserved.Intersect(v.top.Online)
	wanted := "isolated"
	if v.width > 1 {
		wanted = "root" // balanced among the CPUs of a slot
	}
	switch {
	case v.mount == "":
		return proposal{skip: "cgroup v2 has no cpuset here (v1 knows no partitions); boot with isolcpus=, see judged tune plan --boot"}
	case v.top.BootIsolated.Overlaps(reserved):
		return v.bootIsolated()
	}
	for _, p := range v.top.Partitions {
		if p.Path != group && p.CPUs.Overlaps(reserved) {
			return proposal{stays: []Value{{Path: p.Path, State: Stays, From: p.Type + " " + p.CPUs.String(), Reason: "a partition of somebody else has reserved CPUs"}}}
		}
	}
	now, err := readPartition(v.fs, group)
	to := wanted + " " + reserved.String()
	switch {
	case err != nil:
		return proposal{stays: []Value{{Path: group, State: Stays, Reason: "cannot be read: " + cause(err)}}}
	case now == to:
		return proposal{right: 1}
	case now != "":
		return proposal{stays: []Value{{Path: group, State: Stays, From: now, Reason: "the group is there already and is no partition " + to + "; judged tune restore removes one that tune made, rmdir another"}}}
	}
	p := proposal{changes: v.witnesses(reserved)}
	handed := entry{Setting: "sched-isolated", Kind: controller, Path: path.Join(v.mount, "cgroup.subtree_control"), Ours: []string{"+cpuset"}}
	if handed.Old, err = value(v.fs, handed); err != nil {
		return proposal{stays: []Value{{Path: handed.Path, State: Stays, Reason: "cannot be read: " + cause(err)}}}
	}
	if handed.Old != "+cpuset" {
		p.changes = append(p.changes, change{entry: handed, from: handed.Old})
	}
	// What it reads at each step of its making, the wanted one last: killed there, it is still ours.
	steps := []string{"member", "member " + reserved.String(), wanted + " invalid " + reserved.String(), to}
	p.changes = append(p.changes, change{entry: entry{Setting: "sched-isolated", Kind: partition, Path: group, Ours: steps}})
	return p
}

// witnesses are the affinities that the kernel writes over: making the partition sets those of all
// threads that can move to all CPUs but its own, and removing it to all; before Linux 6.2 for good. Only
// CPUs that are online count for some kernels, and possible ones too for others. The old values are
// noted, to be put back after the partition.
func (v *view) witnesses(reserved cpuset.Set) []change {
	possible := v.top.Present
	if text, err := v.fs.Read(cpuDir + "/possible"); err == nil {
		if set, err := cpuset.Parse(text); err == nil {
			possible = set
		}
	}
	ours := []string{possible.String(), possible.Minus(reserved).String(), v.top.Online.String(), v.top.Online.Minus(reserved).String()}
	var all []change
	for _, t := range scanThreads(v.fs) {
		if t.flags&flagFixed == 0 {
			e := entry{Setting: "sched-isolated", Kind: affinity, Path: t.dir, Start: t.start, Old: t.allowed.String(), Ours: ours}
			all = append(all, change{entry: e, witness: true})
		}
	}
	return all
}

func (v *view) bootIsolated() proposal {
	if rest := v.reserved.Intersect(v.top.Online).Minus(v.top.BootIsolated); len(rest) > 0 {
		return proposal{skip: fmt.Sprintf("isolcpus=%s has some of the CPUs already, and no partition may mix them with CPU %s", v.top.BootIsolated, rest)}
	}
	return proposal{right: 1, skip: "isolcpus=" + v.top.BootIsolated.String() + " has done it at boot"}
}

// readPartition is "" where the group is not, and else its type and CPUs, with the word invalid
// between them where the kernel does not keep it: the write that makes such a one succeeds.
func readPartition(h hostfs.FS, group string) (string, error) {
	kind, err := h.Read(path.Join(group, "cpuset.cpus.partition"))
	if errors.Is(err, fs.ErrNotExist) && !h.Exists(group) {
		return "", nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	cpus, err := h.Read(path.Join(group, "cpuset.cpus"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if kind, _, _ = strings.Cut(kind, " ("); kind == "" {
		kind = "member" // a group without cpuset
	}
	return strings.TrimSpace(kind + " " + cpus), nil
}

// whyInvalid is the kernel's own reason.
func whyInvalid(h hostfs.FS, group string) string {
	text, err := h.Read(path.Join(group, "cpuset.cpus.partition"))
	if err != nil {
		return cause(err)
	}
	return text
}

// dissolve makes the group an ordinary one and removes it. Only the write is done at once: what the
// removal of a partition brings back comes later, and would overwrite affinities that are back by then.
func (t *tuner) dissolve(group string) error {
	stat, err := t.o.FS.Read(path.Join(group, "cgroup.stat"))
	if err == nil && !strings.Contains("\n"+stat+"\n", "\nnr_descendants 0\n") {
		return errors.New("groups of judged are in it; stop judged first")
	}
	err = t.hands.Write(path.Join(group, "cpuset.cpus.partition"), "member")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return t.hands.RemoveGroup(group)
}

// setPartition makes the group, or with "" removes it. Making is refused by the kernel in two ways: by an
// error, and by a partition that reads invalid; either takes the group away again.
func (t *tuner) setPartition(group, to string) error {
	if to == "" {
		return t.dissolve(group)
	}
	kind, cpus, _ := strings.Cut(to, " ")
	err := t.hands.MakeGroup(group)
	for _, w := range [][2]string{{"cpuset.cpus", cpus}, {"cpuset.cpus.partition", kind}} {
		if err == nil {
			err = t.hands.Write(path.Join(group, w[0]), w[1])
		}
	}
	if now, rerr := readPartition(t.o.FS, group); err == nil && (rerr != nil || now != to) {
		err = fmt.Errorf("the kernel does not keep the partition: it reads %q", whyInvalid(t.o.FS, group))
	}
	if err != nil {
		err = errors.Join(err, t.dissolve(group))
	}
	return err
}
