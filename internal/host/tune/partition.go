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
)

// groupName is the name of the group that tune creates below the root of cgroup v2: a partition of the reserved
// CPUs, in which judged creates the groups of its runs (package cgroup uses the same name). All other groups,
// and so all other tasks, use the other CPUs.
const groupName = "judged"

func validPartition(v *view, e entry) bool {
	return v.mount != "" && (e.Kind == partition && e.Path == path.Join(v.mount, groupName) ||
		e.Kind == controller && e.Path == path.Join(v.mount, "cgroup.subtree_control")) || validThread(v, e)
}

// cpusetMount returns the mount point of cgroup v2 if it has the cpuset controller.
func cpusetMount(h hostfs.FS) string {
	mounts, err := h.Read("/proc/mounts")
	if err != nil {
		return ""
	}
	for _, m := range hostfs.Mounts(mounts) {
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
	// The values at each step of the creation, the wanted one last. If tune is killed at any step, it still
	// owns the value.
	steps := []string{"member", "member " + reserved.String(), wanted + " invalid " + reserved.String(), to}
	p.changes = append(p.changes, change{entry: entry{Setting: "sched-isolated", Kind: partition, Path: group,
		Ours: steps}})
	return p
}

// witnesses returns the affinities that the kernel overwrites. Creating the partition sets the affinities of
// all movable threads to all CPUs outside it, and removing the partition sets them to all CPUs; before Linux
// 6.2 this is permanent. Some kernels use only online CPUs, others all possible ones. The old values are
// recorded and restored after the partition.
func (v *view) witnesses(reserved cpuset.Set) ([]change, error) {
	possible := v.possible()
	ours := []string{possible.String(), possible.Minus(reserved).String(), v.Topology.Online.String(),
		v.Topology.Online.Minus(reserved).String()}
	var all []change
	threads, err := hostfs.Threads(context.Background(), v.FS)
	for _, t := range threads {
		if !t.Fixed() {
			e := entry{Setting: "sched-isolated", Kind: affinity, Path: t.Dir, Start: t.Start, Old: t.Allowed.String(),
				Ours: ours}
			all = append(all, change{entry: e, witness: true})
		}
	}
	return all, err
}

// possible returns the possible CPUs, or the present ones if the kernel does not list them.
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

// readPartition returns "" if the group does not exist, otherwise its type and CPUs. Between them it puts the
// word invalid if the partition is invalid: the write that creates an invalid partition succeeds.
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
		kind = "member" // a group without the cpuset controller
	}
	return strings.TrimSpace(kind + " " + cpus), nil
}

// whyInvalid returns the kernel's reason.
func whyInvalid(h hostfs.FS, group string) string {
	text, err := h.Read(path.Join(group, "cpuset.cpus.partition"))
	if err != nil {
		return cause(err)
	}
	return text
}

// dissolve changes the group to an ordinary one and removes it. The write is needed because removing a
// partition changes affinities later, which would overwrite those restored in the meantime.
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

// setPartition creates the group, or removes it if to is "". The kernel rejects a partition either with an
// error or by marking it invalid. In both cases the group is removed again.
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
