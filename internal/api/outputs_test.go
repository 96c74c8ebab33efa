package api

import (
	"strings"
	"testing"

	"judged/internal/base/units"
)

// TestCheckOutputs checks what a node may report about outputs, with one change per case.
func TestCheckOutputs(t *testing.T) {
	blob := strings.Repeat("ab", 32)
	job := Job{Tests: []Test{{Name: "1"}, {Name: "2"}}, Keep: Keep{Stdout: KeepFailed, Stderr: KeepAlways},
		Collect: []string{"out"}}
	report := func() Report {
		return Report{Verdict: WrongAnswer, Tests: []TestReport{{Name: "1", Verdict: Accepted}, {Name: "2",
			Verdict: WrongAnswer}}, Outputs: []Output{
			{Test: "1", Stream: StderrStream, Blob: blob, Bytes: 3},
			{Test: "1", Stream: FileStream, Name: "out", Missing: true},
			{Test: "2", Stream: StdoutStream, Blob: blob, Bytes: 1 << 30, Truncated: true},
			{Test: "2", Stream: StderrStream, Bytes: 3, Truncated: true},
			{Test: "2", Stream: FileStream, Name: "out", Blob: blob},
		}}
	}
	one := func(f func(*Output)) func(*Job, *Report) { return func(_ *Job, r *Report) { f(&r.Outputs[2]) } }
	for name, tt := range map[string]struct {
		change func(*Job, *Report)
		want   string // start of the error, "" for none
	}{
		"as it is":    {func(*Job, *Report) {}, ""},
		"no outputs":  {func(_ *Job, r *Report) { r.Outputs = nil }, ""},
		"other test":  {one(func(o *Output) { o.Test = strings.Repeat("x", 1<<20) }), `outputs: no test "xxx`},
		"accepted":    {one(func(o *Output) { o.Test = "1" }), `outputs: the job keeps no "stdout" of a test with AC`},
		"stream":      {one(func(o *Output) { o.Stream = "<b>" }), `outputs: the job keeps no "<b>"`},
		"name":        {one(func(o *Output) { o.Name = "b" }), `outputs: the job collects no "b"`},
		"name of one": {one(func(o *Output) { o.Name = "out" }), `outputs: the job collects no "out"`},
		"file":        {one(func(o *Output) { o.Stream = FileStream }), `outputs: the job collects no ""`},
		"digest":      {one(func(o *Output) { o.Blob = "../" + blob[3:] }), `outputs: "../babab`},
		"size":        {one(func(o *Output) { o.Bytes = units.Bytes(-1) }), "outputs: out of range"},
		"missing":     {one(func(o *Output) { o.Missing = true }), `outputs: "" is missing`},
		"twice":       {one(func(o *Output) { o.Stream = StderrStream }), `outputs: "stderr" of test "2" is listed twice`},
		"never":       {func(j *Job, _ *Report) { j.Keep.Stderr = KeepNever }, `outputs: the job keeps no "stderr"`},
		"interactor":  {func(j *Job, _ *Report) { j.Interactor = &Interactor{} }, `outputs: the job keeps no "stdout"`},
		"compiler": {func(j *Job, r *Report) {
			j.Language, j.Keep.Compiler = "c", KeepAlways
			r.Outputs = append(r.Outputs, Output{Stream: CompilerStream, Blob: blob, Bytes: 1})
		}, ""},
		"compiler of a CE": {func(j *Job, r *Report) {
			*j = Job{Language: "c", Tests: j.Tests, Keep: Keep{Compiler: KeepFailed}}
			*r = Report{Verdict: CompileError, Outputs: []Output{{Stream: CompilerStream, Blob: blob}}}
		}, ""},
		"compiler that succeeded": {func(j *Job, r *Report) {
			j.Language, j.Keep.Compiler = "c", KeepFailed
			r.Outputs = []Output{{Stream: CompilerStream}}
		}, `outputs: the job keeps no "compiler" of a test with AC`},
		"no compiler": {func(j *Job, r *Report) {
			j.Keep.Compiler, r.Outputs = KeepAlways, []Output{{Stream: CompilerStream}}
		}, `outputs: the job keeps no "compiler"`},
		"compiler of a test": {func(j *Job, r *Report) {
			j.Language, j.Keep.Compiler = "c", KeepAlways
			r.Outputs = []Output{{Test: "1", Stream: CompilerStream}}
		}, `outputs: no test "1"`},
		"nothing": {func(j *Job, _ *Report) { j.Keep, j.Collect = Keep{}, nil }, `outputs: the job keeps no`},
	} {
		t.Run(name, func(t *testing.T) {
			j, r := job, report()
			tt.change(&j, &r)
			err := j.CheckReport(r)
			if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// TestCutOutput checks the sizes around a limit.
func TestCutOutput(t *testing.T) {
	for _, tt := range []struct {
		content string
		most    units.Bytes
		want    string
		none    bool
		cut     bool
	}{
		{"abc", 4, "abc", false, false}, {"abc", 3, "abc", false, false}, {"abc", 2, "ab", false, true},
		{"abc", 0, "", true, true}, {"abc", -1, "", true, true}, {"", 0, "", false, false},
	} {
		k := KeptOutput{Content: []byte(tt.content)}
		k.Cut(tt.most)
		if string(k.Content) != tt.want || (k.Content == nil) != tt.none || k.Truncated != tt.cut {
			t.Errorf("%q cut to %d: %q, nil %t, cut %t", tt.content, tt.most, k.Content, k.Content == nil, k.Truncated)
		}
	}
}
