package cgroup

import (
	"errors"
	"os"

	"judged/internal/base/linux"
)

// frame is the part of a group that several runs may use one after the other: folders whose limits are set for each
// run and whose counters are read as differences. On a host with v1 controllers it is everything but memory, and
// making and removing it takes 0.2 ms; on v2 it is the whole group and serves one run.
type frame struct {
	name   string
	dirs   []string // in the order in which they were made
	v2     *os.File // folder of the v2 group, or nil
	joins  []*os.File
	usage  *os.File // cpu.stat or cpuacct.usage, kept open for the supervisor
	events *os.File // cgroup.events of v2, or nil
	waits  *os.File // cpu.pressure, or nil
	irqs   *os.File // irq.pressure, or nil
	procs  string   // cgroup.procs of the group that counts
	// processes is the current limit of pids; 0 means that none is set.
	processes int
	// threads is the file that lists the threads of the group; its name differs on a legacy host.
	threads string
}

// acquireFrame returns an idle frame, or makes one.
func (s *Subtree) acquireFrame(name string) (*frame, error) {
	if f := s.idleFrame(); f != nil {
		return f, nil
	}
	f := &frame{name: name}
	if err := s.makeFrame(f); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

func (s *Subtree) idleFrame() *frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.idle)
	if n == 0 {
		return nil
	}
	f := s.idle[n-1]
	s.idle = s.idle[:n-1]
	return f
}

func (s *Subtree) putIdle(f *frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, f)
}

// Trim removes the idle frames.
func (s *Subtree) Trim() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, f := range s.idle {
		errs = append(errs, f.remove())
	}
	s.idle = nil
	return errors.Join(errs...)
}

func (s *Subtree) makeFrame(f *frame) (err error) {
	h := s.tree.host
	if h.Mode != Unified {
		// All runs of a slot share its cpuset and its weight, so a run needs no folder in these hierarchies.
		for _, c := range []string{"cpuset", weightController} {
			if s.dirs[c] == "" {
				continue
			}
			if err := f.join(h.fs.Path(s.dirs[c])); err != nil {
				return err
			}
		}
		for _, c := range v1Controllers(h.Mode) {
			if c == "cpuset" || c == "memory" {
				continue
			}
			if err := f.make(s.dir(c, f.name)); err != nil {
				return err
			}
			if err := f.join(s.dir(c, f.name)); err != nil {
				return err
			}
		}
	}
	if h.v2 == "" {
		counts := s.dir("cpuacct", f.name)
		f.procs, f.threads = counts+"/cgroup.procs", counts+"/tasks"
		f.usage, err = linux.Open(counts+"/cpuacct.usage", os.O_RDONLY)
		return err
	}
	counts := s.dir("", f.name)
	if err := f.make(counts); err != nil {
		return err
	}
	if f.v2, err = linux.Open(counts, os.O_RDONLY); err != nil {
		return err
	}
	if f.events, err = linux.Open(counts+"/cgroup.events", os.O_RDONLY); err != nil {
		return err
	}
	f.procs, f.threads = counts+"/cgroup.procs", counts+"/cgroup.threads"
	f.waits, f.irqs = openSome(counts+"/cpu.pressure"), openSome(counts+"/irq.pressure")
	f.usage, err = linux.Open(counts+"/cpu.stat", os.O_RDONLY)
	return err
}

func (f *frame) make(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	f.dirs = append(f.dirs, dir)
	return nil
}

func (f *frame) join(dir string) error {
	tasks, err := linux.Open(dir+"/tasks", os.O_WRONLY)
	if err != nil {
		return err
	}
	f.joins = append(f.joins, tasks)
	return nil
}

// close closes the files.
func (f *frame) close() {
	for _, file := range append(f.joins, f.usage, f.events, f.waits, f.irqs, f.v2) {
		if file != nil {
			file.Close()
		}
	}
}

func (f *frame) remove() error {
	f.close()
	var errs []error
	for i := len(f.dirs) - 1; i >= 0; i-- {
		errs = append(errs, removeFolder(f.dirs[i]))
	}
	return errors.Join(errs...)
}
