package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
)

// CPUOn returns the CPU time used so far by all slots that have one of the CPUs: by programs of contestants and
// other work of judged. User is nil if the kernel does not distinguish user time.
func (t *Tree) CPUOn(cpus cpuset.Set) (CPU, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := CPU{User: new(time.Duration)}
	for _, s := range t.slots {
		if s.others.Load() || !s.cpus.Overlaps(cpus) {
			continue
		}
		c, err := s.cpu()
		if err != nil {
			return CPU{}, fmt.Errorf("read CPU time of slot %s: %w", s.cpus, err)
		}
		sum.Total += c.Total
		if sum.User != nil && c.User != nil {
			*sum.User += *c.User
		} else {
			sum.User = nil
		}
	}
	return sum, nil
}

// CountAsOthers excludes the groups from CPUOn. It is used for the load of an experiment.
func (s *Subtree) CountAsOthers() { s.others.Store(true) }

// cpu returns the CPU time of all runs of the slot, also of those whose groups are removed: the kernel adds a
// group to its parents. The caller holds the lock of the tree.
func (s *Subtree) cpu() (CPU, error) {
	hierarchy, name, parse := "", "cpu.stat", parseCPUStat
	if s.tree.host.v2 == "" {
		hierarchy, name, parse = "cpuacct", "cpuacct.usage", parseUsage
	}
	if s.usage == nil {
		f, err := linux.Open(s.tree.host.fs.Path(filepath.Join(s.dirs[hierarchy], name)), os.O_RDONLY)
		if err != nil {
			return CPU{}, err
		}
		s.usage = f
	}
	return readCPU(s.usage, parse)
}
