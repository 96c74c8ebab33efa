package judge

import (
	"judged/internal/base/job"
	"judged/internal/engine/languages"
)

// Source are the sources of a task with a language.
func (t Task) Source() languages.Source {
	return languages.Source{Language: t.Language, Files: t.Files}
}

// Compiled is the task with the program that its sources were compiled to.
func (t Task) Compiled(r languages.Result) Task {
	t.Args, t.Files, t.Language = r.Args, r.Files, ""
	return t
}

// Compilation is what a report says of a compilation.
func (t Task) Compilation(r languages.Result) *job.Compilation {
	return &job.Compilation{Language: t.Language, Output: r.Output, Cached: r.Cached}
}

// Uncompiled is the report of a task whose sources do not compile.
func (t Task) Uncompiled(r languages.Result) job.Report {
	report := job.Report{State: job.Done, Verdict: job.CompileError, Message: r.Failure, Compilation: t.Compilation(r),
		JudgementType: job.CompileError.JudgementType()}
	tests, _ := t.plan()
	for _, test := range tests {
		report.Tests = append(report.Tests, job.TestReport{Name: test.Name, Verdict: job.Skipped})
	}
	return report
}
