package engine

import (
	"context"

	"judged/internal/api"
	"judged/internal/engine/judge"
	"judged/internal/engine/languages"
	"judged/internal/host/slots"
)

// Judge judges a task on a slot that the caller has leased. Sources, also those of the jury, are compiled first, on
// housekeeping CPUs.
func (e *Engine) Judge(ctx context.Context, s slots.Slot, t judge.Task, decided func(api.TestReport)) (api.Report,
	error) {
	compiled, compilation, failed, release, err := t.Compile(func(s languages.Source) (languages.Result, error) {
		compiler, err := e.Compiler()
		if err != nil {
			return languages.Result{}, err
		}
		return compiler.Compile(ctx, s)
	})
	defer release()
	if err != nil {
		return api.Report{}, err
	}
	if failed != nil {
		return *failed, nil
	}
	report, err := e.judge(ctx, s, compiled, decided)
	report.Compilation = compilation
	return report, err
}

// judge judges a task whose program can be executed.
func (e *Engine) judge(ctx context.Context, s slots.Slot, t judge.Task, decided func(api.TestReport)) (api.Report,
	error) {
	if t.NeedsJury() {
		var err error
		if t.Jury, err = e.Jury(s); err != nil {
			return api.Report{}, err
		}
	}
	return judge.Run(ctx, e.Worker(s), t, decided)
}

// Tidy cleans up after the last run on a slot and prepares the next one, in the background.
func (e *Engine) Tidy(s slots.Slot) { e.Worker(s).Tidy() }
