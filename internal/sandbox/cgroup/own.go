package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
)

// CPUOn is the CPU time of everything that has run so far on the slots that have one of the CPUs: work of judged's, of
// which runs of contestants are a part. User is nil where the kernel has no split.
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

// CountAsOthers leaves what runs in the groups out of CPUOn: the load of an experiment.
func (s *Subtree) CountAsOthers() { s.others.Store(true) }

// cpu reads what all runs of the slot have used so far, also those whose groups are gone: the kernel adds a group to its
// parents. The lock of the tree is held.
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
