package engine

import (
	"context"
	"fmt"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/engine/judge"
	"judged/internal/engine/languages"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
)

// Judge judges a task on a slot that the caller has leased. Sources, also those of the jury, are compiled first, on
// housekeeping CPUs.
func (e *Engine) Judge(ctx context.Context, s slots.Slot, t judge.Task, decided func(api.TestReport)) (api.Report,
	error) {
	e.judging.Add(1)
	defer e.judging.Add(-1)
	return e.judge(ctx, s, e.Worker(s), t, decided)
}

// JudgeAside is Judge on a housekeeping CPU, for programs whose times do not matter, such as input validators. The slots
// can judge at the same time. Concurrent calls wait for each other.
func (e *Engine) JudgeAside(ctx context.Context, t judge.Task, decided func(api.TestReport)) (api.Report, error) {
	e.asideMu.Lock()
	defer e.asideMu.Unlock()
	if e.aside == nil {
		cpu := cpuset.New(e.juryCPU(e.slots[0]))
		resources, err := e.UnplannedSlot(cpu, e.memoryNodes(cpu))
		if err == nil {
			e.aside, err = e.WorkerOn(resources)
		}
		if err != nil {
			return api.Report{}, fmt.Errorf("set up a sandbox on CPU %s: %w", cpu, err)
		}
	}
	return e.judge(ctx, e.slots[0], e.aside, t, decided)
}

// Compile compiles the sources of a task, as Judge does. See judge.Task.Compile.
func (e *Engine) Compile(ctx context.Context, t judge.Task) (judge.Compiled, error) {
	return t.Compile(func(s languages.Source) (languages.Result, error) {
		compiler, err := e.Compiler()
		if err != nil {
			return languages.Result{}, err
		}
		return compiler.Compile(ctx, s)
	})
}

// judge judges a task on a worker; programs of the jury are those of a slot.
func (e *Engine) judge(ctx context.Context, s slots.Slot, w *measure.Worker, t judge.Task,
	decided func(api.TestReport)) (api.Report, error) {
	compiled, err := e.Compile(ctx, t)
	if err != nil {
		return api.Report{}, err
	}
	defer compiled.Close()
	if compiled.Failed != nil {
		compiled.Failed.Kept = compiled.Kept
		return *compiled.Failed, nil
	}
	if t = compiled.Task; t.NeedsJury() {
		if t.Jury, err = e.Jury(s); err != nil {
			return api.Report{}, err
		}
	}
	report, err := judge.Run(ctx, w, t, decided)
	report.Compilation, report.Kept = compiled.Compilation, compiled.Kept
	return report, err
}

// Tidy cleans up after the last run on a slot and prepares the next one, in the background.
func (e *Engine) Tidy(s slots.Slot) { e.Worker(s).Tidy() }
