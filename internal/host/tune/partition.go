package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/proc"
)

// groupName is that of the group that tune creates below the root of cgroup v2: a partition of the reserved CPUs, in
// which judged creates the groups of its runs (package cgroup knows the name). All other groups, and so all other
// tasks, keep the rest of the CPUs.
const groupName = "judged"

func validPartition(v *view, e entry) bool {
	return v.mount != "" && (e.Kind == partition && e.Path == path.Join(v.mount, groupName) ||
		e.Kind == controller && e.Path == path.Join(v.mount, "cgroup.subtree_control")) || validThread(v, e)
}

// cpusetMount is where cgroup v2 is mounted, if the cpuset controller is in it.
func cpusetMount(h hostfs.FS) string {
	mounts, err := h.Read("/proc/mounts")
	if err != nil {
		return ""
	}
	for _, m := range proc.Mounts(mounts) {
		if have, err := h.Read(m.Point + "/cgroup.controllers"); m.FSType == "cgroup2" && err == nil &&
			slices.Contains(strings.Fields(have), "cpuset") {
			return m.Point
		}
	}
	return ""
}

func (v *view) makePartition() proposal {
	group := path.Join(v.mount, groupName)
	reserved, wanted := v.Reserved.Intersect(v.Topology.Online), v.Partition()
	switch {
	case v.mount == "":
		return proposal{skip: "cgroup v2 has no cpuset here, and v1 has no partitions; boot with isolcpus=, see judged " +
			"tune plan --boot"}
	case v.Topology.BootIsolated.Overlaps(reserved):
		return v.bootIsolated()
	}
	for _, p := range v.Topology.Partitions {
		if p.Path != group && p.CPUs.Overlaps(reserved) {
			return proposal{stays: []Value{{Path: p.Path, State: Stays, From: p.Type + " " + p.CPUs.String(),
				Reason: "a partition of another program has reserved CPUs"}}}
		}
	}
	now, err := readPartition(v.FS, group)
	to := wanted + " " + reserved.String()
	switch {
	case err != nil:
		return proposal{stays: []Value{{Path: group, State: Stays, Reason: "cannot read it: " + cause(err)}}}
	case now == to:
		return proposal{right: 1}
	case now != "":
		return proposal{stays: []Value{{Path: group, State: Stays, From: now,
			Reason: "the group exists already and is not a partition " + to +
				"; judged tune restore removes one that tune created, rmdir another one"}}}
	}
	var p proposal
	if p.changes, err = v.witnesses(reserved); err != nil {
		return proposal{stays: []Value{{Path: group, State: Stays, Reason: err.Error()}}}
	}
	enable := entry{Setting: "sched-isolated", Kind: controller, Path: path.Join(v.mount, "cgroup.subtree_control"),
		Ours: []string{"+cpuset"}}
	if enable.Old, err = value(v.FS, enable); err != nil {
		return proposal{stays: []Value{{Path: enable.Path, State: Stays, Reason: "cannot read it: " + cause(err)}}}
	}
	if enable.Old != "+cpuset" {
		p.changes = append(p.changes, change{entry: enable, from: enable.Old})
	}
	// Its value at each step of its creation, the wanted one last: killed at any step, tune still owns it.
	steps := []string{"member", "member " + reserved.String(), wanted + " invalid " + reserved.String(), to}
	p.changes = append(p.changes, change{entry: entry{Setting: "sched-isolated", Kind: partition, Path: group,
		Ours: steps}})
	return p
}

// witnesses are the affinities that the kernel overwrites: creating the partition sets those of all movable threads to
// all CPUs but its own, and removing it to all; before Linux 6.2 for good. Some kernels count online CPUs only, others
// all possible ones. The old values are noted, to be restored after the partition.
func (v *view) witnesses(reserved cpuset.Set) ([]change, error) {
	possible := v.possible()
	ours := []string{possible.String(), possible.Minus(reserved).String(), v.Topology.Online.String(),
		v.Topology.Online.Minus(reserved).String()}
	var all []change
	threads, err := proc.Threads(context.Background(), v.FS)
	for _, t := range threads {
		if !t.Fixed() {
			e := entry{Setting: "sched-isolated", Kind: affinity, Path: t.Dir, Start: t.Start, Old: t.Allowed.String(),
				Ours: ours}
			all = append(all, change{entry: e, witness: true})
		}
	}
	return all, err
}

// possible are the CPUs that the kernel is prepared for, the present ones if it does not say.
func (v *view) possible() cpuset.Set {
	set, err := cpuset.Parse(v.Optional("/sys/devices/system/cpu/possible"))
	if err != nil || len(set) == 0 {
		return v.Topology.Present
	}
	return set
}

func (v *view) bootIsolated() proposal {
	if rest := v.Reserved.Intersect(v.Topology.Online).Minus(v.Topology.BootIsolated); len(rest) > 0 {
		return proposal{skip: fmt.Sprintf("isolcpus=%s holds some of the CPUs already, and no partition may mix them "+
			"with CPU %s", v.Topology.BootIsolated, rest)}
	}
	return proposal{right: 1, skip: "isolcpus=" + v.Topology.BootIsolated.String() + " isolates them since boot"}
}

// readPartition is "" where the group does not exist, and else its type and CPUs, with the word invalid between them
// where the kernel does not keep it: the write that creates an invalid one succeeds.
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

// dissolve makes the group an ordinary one and removes it. The write is needed: a removed partition changes affinities
// later, and would overwrite those that are restored by then.
func (t *tuner) dissolve(group string) error {
	stat, err := t.o.FS.Read(path.Join(group, "cgroup.stat"))
	if err == nil && !strings.Contains("\n"+stat+"\n", "\nnr_descendants 0\n") {
		return errors.New("it holds groups of judged; stop judged first")
	}
	err = t.writer.Write(path.Join(group, "cpuset.cpus.partition"), "member")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return t.writer.RemoveGroup(group)
}

// setPartition creates the group, or with "" removes it. The kernel refuses to create one in two ways: by an error, and
// by a partition that reads invalid; either removes the group again.
func (t *tuner) setPartition(group, to string) error {
	if to == "" {
		return t.dissolve(group)
	}
	kind, cpus, _ := strings.Cut(to, " ")
	err := t.writer.MakeGroup(group)
	for _, w := range [][2]string{{"cpuset.cpus", cpus}, {"cpuset.cpus.partition", kind}} {
		if err == nil {
			err = t.writer.Write(path.Join(group, w[0]), w[1])
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
