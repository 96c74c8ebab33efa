package probe

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/doctor"
	"judged/internal/sandbox/initproc"
)

// place is the CPUs and the memory node that a run is promised.
type place struct {
	CPUs     cpuset.Set
	Node     int
	Bound    bool // the memory is of that node
	NohzFull bool
	Virtual  bool
}

// limits runs a program in the sandbox that reports its limits.
func (p *prober) limits(ctx context.Context) (doctor.Outcome, error) {
	var all []doctor.Outcome
	for _, s := range p.slots {
		worker := p.eng.Worker(s)
		p.seen("the sandbox on CPU %s", s.CPUs)
		text, run, err := p.kernels.Probe(ctx, worker, initproc.KernelLimits, p.milliseconds())
		if err != nil {
			return doctor.Outcome{}, err
		}
		slot := worker.Resources()
		o := judgeLimits(text, run, place{CPUs: s.CPUs, Node: slot.Node, Bound: slot.BindNode, NohzFull: slot.Tickless,
			Virtual: p.eng.Virtual()})
		o.Found = fmt.Sprintf("CPU %s: %s", s.CPUs, o.Found)
		all = append(all, o)
	}
	return summed(all), nil
}

// startTicks is the number of timer interrupts that the start of the probe itself causes, with the threads of its
// runtime: 30 ms and their timers. A tick causes 250 and more per second.
const startTicks = 100

// judgeLimits compares the output of the program, lines in the format of /proc/PID/status, with the promise.
func judgeLimits(text string, run api.Run, want place) doctor.Outcome {
	field := func(name string) string {
		for line := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(line, name+":"); ok {
				return strings.TrimSpace(value)
			}
		}
		return ""
	}
	cpus, mems, limit, store := field("Cpus_allowed_list"), field("Mems_allowed_list"), field("Max_cpu_time"),
		field("Speculation_Store_Bypass")
	o := doctor.Outcome{Status: api.DoctorPass, Found: fmt.Sprintf(
		"may run on %s with memory of node %s, RLIMIT_CPU %s, seccomp %s, store bypass %s",
		cpus, mems, limit, field("Seccomp"), store)}
	var wrong, odd []string
	if cpus != want.CPUs.String() {
		wrong = append(wrong, "its CPUs are not the slot's")
	}
	if want.Bound && mems != cpuset.New(want.Node).String() {
		wrong = append(wrong, fmt.Sprintf("its memory is not of node %d", want.Node))
	}
	if limit != "unlimited unlimited" {
		wrong = append(wrong, "RLIMIT_CPU is set, which keeps the tick on")
	}
	if field("Seccomp") != "2" || field("NoNewPrivs") != "1" {
		wrong = append(wrong, "the system call filter is not in force")
	}
	if strings.Contains(store, "force mitigated") {
		wrong = append(wrong, "store bypass is mitigated by force")
	}
	if n, ok := run.Evidence.Interrupts["LOC"]; ok && want.NohzFull &&
		float64(n) > startTicks+5*run.WallTime.Seconds() {
		odd = append(odd, fmt.Sprintf("%d timer interrupts in %s, though the CPU is in nohz_full", n,
			units.Duration(run.WallTime)))
	}
	if ns, err := strconv.ParseInt(field("Waited_ns"), 10, 64); err == nil &&
		time.Duration(ns) > want.patience(run.CPUTime) {
		odd = append(odd, "it waited "+units.Duration(time.Duration(ns))+" for its CPU")
	}
	switch {
	case len(wrong) > 0:
		o.Status, o.Reason = api.DoctorFail, strings.Join(append(wrong, odd...), "; ")
	case len(odd) > 0:
		o.Status, o.Reason = api.DoctorWarn, strings.Join(odd, "; ")
	}
	return o
}

// patience returns how long a run may wait for its CPU: evidence has the same figures.
func (p place) patience(cpu time.Duration) time.Duration {
	if p.Virtual {
		return max(2*time.Millisecond, cpu/200)
	}
	return max(time.Millisecond, cpu/500)
}
