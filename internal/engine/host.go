package engine

import (
	"context"
	"fmt"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/base/job"
	"judged/internal/host/doctor"
	"judged/internal/host/turbo"
)

// Doctor examines the host with the engine's slots. What the kernel counts is judged since the last
// time, the first time since boot.
func (c *Engine) Doctor(ctx context.Context) (doctor.Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, counted, err := doctor.Examine(ctx, doctor.Options{FS: c.fs, CPUs: c.CPUs(), Width: max(c.options.Width, 1), Strict: c.options.Strict,
		Daemon: c.options.Daemon, Class: c.options.Class, Member: c.options.Member, Program: c.program, Before: c.counted})
	if err == nil {
		c.counted = &counted
	}
	return r, err
}

// Turbo reads the frequency switches anew: a few files, cheap enough for every
// lease. A host that had no switch when the engine was opened, such as a virtual
// machine, does not grow one.
func (c *Engine) Turbo(cpus cpuset.Set) turbo.State {
	if c.turbo.Value == turbo.Unknown && c.turbo.Source == "" {
		return c.turbo
	}
	return turbo.Read(c.fs, cpus)
}

// Host is what a report says about this host, with doctor's last word.
func (c *Engine) Host(cpus cpuset.Set, d doctor.Report) job.Host {
	failed := d.FailedIDs()
	if failed == nil {
		failed = []string{}
	}
	return job.Host{
		Name: c.Name(), Pool: c.options.Pool, Fingerprint: c.fingerprint,
		Kernel: c.topology.Kernel, CPUModel: c.topology.Model,
		Isolation: c.isolation(cpus), Turbo: string(c.Turbo(cpus).Value),
		Doctor: &job.DoctorHost{Ready: d.Ready, Failed: failed},
	}
}

// isolation is how the CPUs are kept free of other work; a set of which a part
// is not is not isolated.
func (c *Engine) isolation(cpus cpuset.Set) string {
	if !cpus.IsSubsetOf(c.topology.Isolated) {
		return "none"
	}
	return c.topology.IsolationKind()
}

// Fit says why a strict engine must not judge on the CPUs now, or nil. Only
// what was verified counts: an unknown turbo state is not off.
func (c *Engine) Fit(cpus cpuset.Set) error {
	if !c.options.Strict {
		return nil
	}
	if c.isolation(cpus) == "none" {
		return fmt.Errorf("refuse to judge: CPUs %s are not isolated; boot with isolcpus=%s or make them a cpuset partition, or set slots.strict = false", cpus, cpus)
	}
	if s := c.Turbo(cpus); s.Value != turbo.Off {
		return fmt.Errorf("refuse to judge: turbo is %s (%s); switch it off, or set slots.strict = false", s.Value, strings.TrimSuffix(s.Reason, "."))
	}
	return nil
}
