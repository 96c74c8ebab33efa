package engine

import (
	"context"
	"fmt"
	"strings"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/doctor"
	"judged/internal/host/machine"
)

// Doctor examines the host with the engine's slots. Of what the kernel counts it sees the growth since its last
// examination, or since boot.
func (e *Engine) Doctor(ctx context.Context) (api.DoctorReport, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, counted, err := doctor.Examine(ctx, doctor.Options{FS: e.fs, CPUs: e.CPUs(), Width: max(e.options.Width, 1),
		Strict: e.options.Strict, Daemon: e.options.Daemon, Class: e.options.Class, Member: e.options.Member,
		Program: e.program, KernelConfig: e.kernelConfig, Before: e.counted,
		Languages: e.options.Languages.Catalogue.OnHost(string(e.options.Root))})
	if err == nil {
		e.counted = &counted
	}
	return r, err
}

// examine reads what reports say about the host.
func (e *Engine) examine() {
	e.examined, e.examineErr = e.Doctor(context.Background())
	e.fingerprint()
}

// Examined waits for the examination that Options.Examine has started.
func (e *Engine) Examined() (api.DoctorReport, error) {
	e.examining.Wait()
	return e.examined, e.examineErr
}

// Turbo reads the current state of turbo from a few files, cheap enough for every lease. A host without a switch in
// Open, such as a virtual machine, is not read again.
func (e *Engine) Turbo(cpus cpuset.Set) machine.Turbo {
	if e.turbo.Source == "" {
		return e.turbo
	}
	return machine.ReadTurbo(e.fs, cpus)
}

// Host is the part of a report about this host, with doctor's last result.
func (e *Engine) Host(cpus cpuset.Set, d api.DoctorReport) api.HostReport {
	return api.HostReport{
		Name: e.Name(), Pool: e.options.Pool, Fingerprint: e.fingerprint().Sum,
		Kernel: e.topology.Kernel, CPUModel: e.topology.Model,
		Isolation: e.isolation(cpus), Turbo: string(e.Turbo(cpus).Value),
		Doctor: &api.DoctorHost{Ready: d.Ready, Failed: d.FailedIDs()},
	}
}

// isolation returns how the CPUs are isolated, or none unless all of them are.
func (e *Engine) isolation(cpus cpuset.Set) string {
	if !cpus.IsSubsetOf(e.topology.Isolated) {
		return "none"
	}
	return e.topology.IsolationKind()
}

// Fit returns an error if a strict engine must not judge on the CPUs now. An unknown state of turbo does not count as
// off.
func (e *Engine) Fit(cpus cpuset.Set) error {
	if !e.options.Strict {
		return nil
	}
	if e.isolation(cpus) == "none" {
		return fmt.Errorf("refuse to judge: CPUs %s are not isolated; boot with isolcpus=%s or make them a cpuset "+
			"partition, or set slots.strict = false", cpus, cpus)
	}
	if s := e.Turbo(cpus); s.Value != machine.TurboOff {
		return fmt.Errorf("refuse to judge: turbo is %s (%s); switch it off, or set slots.strict = false", s.Value,
			strings.TrimSuffix(s.Reason, "."))
	}
	return nil
}
