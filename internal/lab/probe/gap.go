package probe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/engine/measure"
	"judged/internal/host/doctor"
	"judged/internal/sandbox/initproc"
)

// Class is a class of CPUs with the same expected gaps.
type Class string

// The classes, by how much of a spin each may lose.
const (
	Tuned   Class = "tuned bare metal" // isolated, and without a tick
	Bare    Class = "bare metal"
	Virtual Class = "virtual machine"
)

func (c Class) allowance() float64 {
	switch c {
	case Tuned:
		return 0.0001
	case Bare:
		return 0.001
	default:
		return 0.01
	}
}

// classOf returns the class of CPUs.
func (p *prober) classOf(cpus cpuset.Set) Class {
	switch {
	case p.eng.Virtual():
		return Virtual
	case cpus.IsSubsetOf(p.top.Isolated) && cpus.IsSubsetOf(p.top.NohzFull):
		return Tuned
	default:
		return Bare
	}
}

// gap spins on one CPU after the other.
func (p *prober) gap(ctx context.Context) (doctor.Outcome, error) {
	var all []doctor.Outcome
	for _, s := range p.slots {
		for _, id := range s.CPUs {
			cpu := cpuset.New(id)
			worker, err := p.workerOn(cpu, p.eng.Worker(s).Resources().Node)
			if err != nil {
				return doctor.Outcome{}, err
			}
			p.seen("gaps on CPU %s", cpu)
			text, run, err := p.kernels.Probe(ctx, worker, initproc.KernelGap, p.milliseconds())
			if err != nil {
				return doctor.Outcome{}, err
			}
			gaps, err := initproc.ParseGaps(text)
			if err != nil {
				return doctor.Outcome{}, err
			}
			o := judgeGaps(gaps, run.Evidence, p.classOf(cpu))
			o.Found = fmt.Sprintf("CPU %s: %s", cpu, o.Found)
			all = append(all, o)
		}
	}
	return summed(all), nil
}

// workerOn returns the slot's own worker, or one for a CPU of a wide slot.
func (p *prober) workerOn(cpu cpuset.Set, node int) (*measure.Worker, error) {
	for _, s := range p.slots {
		if s.CPUs.String() == cpu.String() {
			return p.eng.Worker(s), nil
		}
	}
	resources, err := p.eng.UnplannedSlot(cpu, cpuset.New(node))
	if err != nil {
		return nil, err
	}
	return p.eng.WorkerOn(resources)
}

// summed returns the worst of the outcomes, with their number.
func summed(all []doctor.Outcome) doctor.Outcome {
	o := worst(all)
	if len(all) > 1 {
		o.Found = fmt.Sprintf("the worst of %d: %s", len(all), o.Found)
	}
	return o
}

func judgeGaps(g initproc.Gaps, e api.Evidence, class Class) doctor.Outcome {
	o := doctor.Outcome{Status: api.DoctorPass, Found: fmt.Sprintf("%.3f %% of %s lost, longest %s (%s)",
		100*g.Ratio(), units.Duration(g.Elapsed.Round(time.Millisecond)), units.Duration(g.Longest), histogram(g))}
	switch {
	case g.Longest > 10*time.Millisecond:
		o.Status, o.Reason = api.DoctorFail, "a gap of more than 10 ms"
	case g.Longest > time.Millisecond:
		o.Status, o.Reason = api.DoctorWarn, "a gap of more than 1 ms"
	case g.Ratio() > class.allowance():
		o.Status, o.Reason = api.DoctorWarn, fmt.Sprintf("more than %g %% is lost, which is what %s may lose",
			100*class.allowance(), class)
	}
	if o.Status != api.DoctorPass {
		// The run's own delay is that of the process that only waits for the spinning one.
		e.RunDelay = &g.Waited
		o.Reason += "; meanwhile: " + attribution(e)
	}
	return o
}

// histogram lists the intervals that contain a gap.
func histogram(g initproc.Gaps) string {
	bounds := initproc.GapBounds()
	var classes []string
	for i, n := range g.Counts {
		if n == 0 {
			continue
		}
		to := "and more"
		if i+1 < len(bounds) {
			to = "to " + short(bounds[i+1])
		}
		classes = append(classes, fmt.Sprintf("%d of %s %s", n, short(bounds[i]), to))
	}
	if len(classes) == 0 {
		return fmt.Sprintf("none from %s", short(g.Floor))
	}
	return strings.Join(classes, ", ")
}

// short formats a bound; units.Duration rounds half a microsecond.
func short(d time.Duration) string {
	if d < time.Millisecond {
		return fmt.Sprintf("%g µs", float64(d)/1000)
	}
	return fmt.Sprintf("%g ms", float64(d)/1e6)
}

// attribution returns what the kernel counted on the CPU meanwhile: times first, the longest first, then interrupts.
func attribution(e api.Evidence) string {
	type share struct {
		what string
		time time.Duration
	}
	var times []share
	for what, t := range map[string]*time.Duration{"waited for the CPU": e.RunDelay, "others on the CPU": e.ForeignTime,
		"stolen by the hypervisor": e.StealTime} {
		if t != nil && *t > 0 {
			times = append(times, share{what, *t})
		}
	}
	slices.SortFunc(times, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.what, b.what))
	})
	var told []string
	for _, s := range times {
		told = append(told, fmt.Sprintf("%s %s", s.what, units.Duration(s.time)))
	}
	var names []string
	for name, n := range e.Interrupts {
		if n > 0 && (name == strings.ToUpper(name) || name == "device") {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(e.Interrupts[b], e.Interrupts[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		told = append(told, fmt.Sprintf("%d %s", e.Interrupts[name], interruptName(name)))
	}
	if len(told) == 0 {
		return "nothing that the kernel counts, so the hypervisor or the firmware"
	}
	return strings.Join(told, ", ")
}

func interruptName(row string) string {
	if name, ok := map[string]string{"LOC": "timer interrupts (LOC)", "RES": "rescheduling calls (RES)",
		"CAL": "function calls (CAL)",
		"TLB": "TLB shootdowns", "device": "interrupts of devices"}[row]; ok {
		return name
	}
	return row
}
