package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/doctor"
)

const (
	tracing  = "/sys/kernel/tracing"
	instance = tracing + "/instances/judged-probe"
	// period is how long the tracer measures before it writes a line, unless an administrator has changed it.
	period = time.Second
)

// osnoise runs the kernel's tracer in a private instance: the host's own tracing is not touched. The tracer's threads
// are busy on every CPU until the instance is removed.
func (p *prober) osnoise(ctx context.Context) (o doctor.Outcome, err error) {
	p.read = []string{tracing + "/available_tracers", tracing + "/current_tracer", instance + "/trace"}
	tracers, err := p.fs.Read(tracing + "/available_tracers")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return skip(tracing + "/available_tracers does not exist: mount -t tracefs tracefs " + tracing), nil
	case err != nil:
		return doctor.Outcome{Status: api.DoctorWarn, Found: "unreadable", Reason: "cannot look: " + err.Error()}, nil
	case !slices.Contains(strings.Fields(tracers), "osnoise"):
		return skip("the kernel is built without CONFIG_OSNOISE_TRACER"), nil
	}
	if current, err := p.fs.Read(tracing + "/current_tracer"); err != nil || current != "nop" {
		return skip(fmt.Sprintf("%s/current_tracer says %q: somebody traces", tracing, current)), nil
	}
	p.seen("the kernel's own tracer")
	text, reason, err := p.trace(ctx)
	if err != nil || reason != "" {
		return skip(reason), err
	}
	return p.judgeTrace(text), nil
}

// trace lets the tracer run for one period more than requested, because its first line covers the time when it was
// switched on. It returns the reason if tracing does not work.
func (p *prober) trace(ctx context.Context) (text, reason string, err error) {
	if err := removeInstance(); err != nil {
		return "", "", err
	}
	if err := os.Mkdir(p.fs.Path(instance), 0o700); err != nil {
		return "", "cannot make an instance of the tracer: " + err.Error(), nil
	}
	defer func() { err = errors.Join(err, removeInstance()) }()
	if err := p.fs.Write(instance+"/current_tracer", "osnoise"); err != nil {
		// Before Linux 5.17 this tracer has no instances.
		return "", "this kernel's tracer does not work in an instance: " + err.Error(), nil
	}
	select {
	case <-time.After(max(p.o.Length, period) + period + period/5):
	case <-ctx.Done():
		return "", "", context.Cause(ctx)
	}
	b, err := p.fs.ReadFile(instance + "/trace")
	if err != nil {
		return "", "", fmt.Errorf("read trace: %w", err)
	}
	return string(b), "", nil
}

// removeInstance also removes what a killed probe has left.
func removeInstance() error {
	err := os.Remove(instance)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("remove the tracer's instance: %w; its threads stay busy until it is gone", err)
}

// noise is one line of the tracer: what one CPU lost in one period.
type noise struct {
	CPU                              int
	Runtime, Lost, Longest           time.Duration
	HW, NMI, IRQ, SoftIRQ, ThreadRun int // how often each occurred
}

// parseNoise parses the lines of the tracer osnoise: "osnoise/2-859 [002] .... 81.637220: 1000000 190 99.98100 9 18 0
// 1007 18 1". The available share can be computed, so it is not parsed. Other lines are skipped.
func parseNoise(text string) []noise {
	var all []noise
	for line := range strings.Lines(text) {
		head, columns, ok := strings.Cut(line, ": ")
		_, rest, ok2 := strings.Cut(head, "[")
		number, _, ok3 := strings.Cut(rest, "]")
		cpu, err := strconv.Atoi(number)
		if !ok || !ok2 || !ok3 || err != nil {
			continue
		}
		if n, ok := parseColumns(columns); ok {
			us := func(i int) time.Duration { return time.Duration(n[i]) * time.Microsecond }
			all = append(all, noise{cpu, us(0), us(1), us(3), n[4], n[5], n[6], n[7], n[8]})
		}
	}
	return all
}

// parseColumns parses the numbers of a line; the third has a decimal point and is left 0.
func parseColumns(text string) (n [9]int, ok bool) {
	f := strings.Fields(text)
	if len(f) < len(n) {
		return n, false
	}
	const most = 1e12 // of microseconds: eleven days
	for i := range n {
		if i == 2 {
			continue
		}
		var err error
		if n[i], err = strconv.Atoi(f[i]); err != nil || n[i] < 0 || n[i] > most {
			return n, false
		}
	}
	return n, n[0] > 0
}

// judgeTrace judges the sum of the lines of each reserved CPU, without the first.
func (p *prober) judgeTrace(text string) doctor.Outcome {
	byCPU := map[int][]noise{}
	for _, n := range parseNoise(text) {
		byCPU[n.CPU] = append(byCPU[n.CPU], n)
	}
	var all []doctor.Outcome
	for _, id := range p.eng.CPUs() {
		if lines := byCPU[id]; len(lines) > 1 {
			o := judgeNoise(lines[1:], p.classOf(cpuset.New(id)))
			o.Found = fmt.Sprintf("CPU %d: %s", id, o.Found)
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return skip("the tracer wrote no line for CPU " + p.eng.CPUs().String())
	}
	return summed(all)
}

func judgeNoise(lines []noise, class Class) doctor.Outcome {
	var sum noise
	for _, n := range lines {
		sum.Runtime, sum.Lost, sum.Longest = sum.Runtime+n.Runtime, sum.Lost+n.Lost, max(sum.Longest, n.Longest)
		sum.HW, sum.NMI, sum.IRQ, sum.SoftIRQ, sum.ThreadRun = sum.HW+n.HW, sum.NMI+n.NMI, sum.IRQ+n.IRQ,
			sum.SoftIRQ+n.SoftIRQ, sum.ThreadRun+n.ThreadRun
	}
	ratio := float64(sum.Lost) / float64(sum.Runtime)
	o := doctor.Outcome{Status: api.DoctorPass, Found: fmt.Sprintf(
		"%.3f %% of %s lost, longest %s: hardware %d, NMI %d, interrupts %d, softirqs %d, threads %d",
		100*ratio, units.Duration(sum.Runtime), units.Duration(sum.Longest), sum.HW, sum.NMI, sum.IRQ, sum.SoftIRQ,
		sum.ThreadRun)}
	switch {
	case sum.Longest > 10*time.Millisecond:
		o.Status, o.Reason = api.DoctorFail, "more than 10 ms at once"
	case sum.Longest > time.Millisecond:
		o.Status, o.Reason = api.DoctorWarn, "more than 1 ms at once"
	case ratio > class.allowance():
		o.Status, o.Reason = api.DoctorWarn, fmt.Sprintf("more than %g %% is lost, which is what %s may lose",
			100*class.allowance(), class)
	}
	if o.Status != api.DoctorPass {
		o.Reason += "; most often: " + sum.culprit(class)
	}
	return o
}

// culprit names the most frequent cause; the tracer counts the kinds and does not time them.
func (n noise) culprit(class Class) string {
	hardware := "hardware or firmware"
	if class == Virtual {
		hardware = "the hypervisor"
	}
	kinds := []struct {
		what string
		n    int
	}{{hardware, n.HW}, {"NMIs", n.NMI}, {"interrupts", n.IRQ}, {"softirqs", n.SoftIRQ}, {"threads", n.ThreadRun}}
	most := kinds[0]
	for _, k := range kinds {
		if k.n > most.n {
			most = k
		}
	}
	return fmt.Sprintf("%s, %d times", most.what, most.n)
}
