package daemon

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/client"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/testkit"
)

// readBlob returns the content of a blob as a platform reads it.
func (i *instance) readBlob(digest string) string {
	i.t.Helper()
	body, err := i.GetBlob(i.ctx, digest)
	if err != nil {
		i.t.Fatal(err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		i.t.Fatal(err)
	}
	return string(content)
}

// keptOutputs judges a job that keeps what its program writes.
func keptOutputs(t *testing.T, d *instance) {
	const script = "#!/bin/sh\nread -r x\necho \"$x\"\necho error $x >&2\n[ $x = 1 ] || echo file $x > out\n"
	d.submit("keeps", api.Job{Program: *text(script), Stop: api.StopNever, Keep: api.Keep{Stdout: api.KeepFailed,
		Stderr: api.KeepAlways, Bytes: 7}, Collect: []string{"out"}, Tests: []api.Test{
		{Name: "1", Input: text("1\n"), Answer: text("1\n")}, {Name: "2", Input: text("2\n"), Answer: text("3\n")}}})
	r := d.finish("keeps")
	contents := map[string]string{}
	for i, o := range r.Outputs {
		if o.Blob != "" {
			contents[o.Test+" "+string(o.Stream)] = d.readBlob(o.Blob)
		}
		r.Outputs[i].Blob = ""
	}
	if diff := cmp.Diff(map[string]string{"1 stderr": "error 1", "2 stdout": "2\n", "2 stderr": "error 2",
		"2 file": "file 2\n"}, contents); diff != "" {
		t.Errorf("blobs (-want +got):\n%s", diff)
	}
	want := []api.Output{{Test: "1", Stream: api.StderrStream, Bytes: 8, Truncated: true},
		{Test: "1", Stream: api.FileStream, Name: "out", Missing: true},
		{Test: "2", Stream: api.StdoutStream, Bytes: 2}, {Test: "2", Stream: api.StderrStream, Bytes: 8, Truncated: true},
		{Test: "2", Stream: api.FileStream, Name: "out", Bytes: 7}}
	if diff := cmp.Diff(want, r.Outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

// keptMessages compiles sources with more messages than a report quotes, one of which is accepted.
func keptMessages(t *testing.T, d *instance) {
	warnings := strings.Repeat("#warning again\n", 2000)
	for id, tt := range map[string]struct {
		source string
		keep   api.KeepWhen
		want   api.Verdict
		cut    bool
	}{
		"warnings": {warnings + "int main(void) { return 0; }\n", api.KeepAlways, api.Accepted, true},
		"accepted": {"int main(void) { return 0; }\n", api.KeepFailed, api.Accepted, false},
		"short":    {"#warning once\nint main(void) { return 0; }\n", api.KeepCut, api.Accepted, false},
		"long":     {warnings + "int main(void) { return 0; }\n", api.KeepCut, api.Accepted, true},
		"errors":   {warnings + "int main(void) { return x; }\n", api.KeepFailed, api.CompileError, true},
	} {
		d.submit("messages-"+id, api.Job{Program: *text(tt.source), Language: "c", Tests: []api.Test{{Name: "1"}},
			Keep: api.Keep{Compiler: tt.keep, Bytes: 1 << 20}})
		r := d.finish("messages-" + id)
		c := r.Compilation
		if r.Verdict != tt.want || c == nil || c.Truncated != tt.cut {
			t.Errorf("%s: %s, %+v", id, r.Verdict, c)
			continue
		}
		if !tt.cut {
			if len(r.Outputs) > 0 {
				t.Errorf("%s: outputs %+v", id, r.Outputs)
			}
			continue
		}
		if len(r.Outputs) != 1 {
			t.Errorf("%s: outputs %+v", id, r.Outputs)
			continue
		}
		o := r.Outputs[0]
		whole := d.readBlob(o.Blob)
		o.Blob = ""
		want := api.Output{Stream: api.CompilerStream, Bytes: units.Bytes(len(whole))}
		if diff := cmp.Diff(want, o); diff != "" || c.Bytes != want.Bytes || len(c.Output) != 64<<10 ||
			strings.Count(whole, "#warning again [") != 2000 || !strings.HasPrefix(whole, c.Output) {
			t.Errorf("%s: %d bytes, %d quoted (-want +got):\n%s", id, c.Bytes, len(c.Output), diff)
		}
	}
}

// compileOptions judges a source whose output depends on an option, and refuses an option that is not allowed.
func compileOptions(t *testing.T, d *instance) {
	j := api.Job{Program: *text("#include <stdio.h>\nint main(void) {\n#ifdef ONLINE_JUDGE\nputs(\"judge\");\n#endif\n}\n"),
		Language: "c", Tests: []api.Test{{Name: "1", Answer: text("judge\n")}}}
	d.submit("options-none", j)
	j.CompileOptions = []string{"-O3", "-DONLINE_JUDGE"}
	d.submit("options-two", j)
	got := map[string]api.Verdict{}
	for _, id := range []string{"options-none", "options-two"} {
		got[id] = d.finish(id).Verdict
	}
	want := map[string]api.Verdict{"options-none": api.WrongAnswer, "options-two": api.Accepted}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	j.CompileOptions = []string{"-O3", "-fplugin=x"}
	_, err := d.Submit(d.ctx, "options-bad", j)
	p, ok := errors.AsType[*client.Problem](err)
	if !ok || p.Status != 400 || len(p.Errors) != 1 || p.Errors[0].Field != "compile_options[1]" ||
		!strings.Contains(p.Errors[0].Detail, `"-fplugin=x" is not allowed for "c"; send any of -O0, -O1`) {
		t.Errorf("an option that is not allowed: %v", err)
	}
}

// TestFinishWithoutOutput checks that no report is stored that names a blob that is not there.
func TestFinishWithoutOutput(t *testing.T) {
	c := config.Default()
	c.DataDir = filepath.Join(t.TempDir(), "data")
	d := &daemon{o: Options{Config: c, Log: slog.New(slog.DiscardHandler)}}
	if err := inOrder(d.openFolder, d.openData)(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}()
	d.store.finish = d.store.Store.Finish
	if _, _, err := d.store.Store.Put(t.Context(), jobs.Submission{ID: "a", Job: api.Job{CPUs: 1}}); err != nil {
		t.Fatal(err)
	}
	w, err := d.store.Take(t.Context(), api.Want{Host: "h"})
	if err != nil {
		t.Fatal(err)
	}
	digest, _, _, err := d.blobs.Put(t.Context(), "", strings.NewReader("there"))
	if err != nil {
		t.Fatal(err)
	}
	finish := func(blob string) error {
		return d.store.Finish(t.Context(), w.Lease, api.Report{Verdict: api.Accepted, Outputs: []api.Output{{Test: "1"},
			{Test: "1", Blob: digest}, {Test: "2", Blob: blob}}})
	}
	err = finish(strings.Repeat("0", 64))
	if !errors.Is(err, api.ErrUnavailable) || errors.Is(err, blobs.ErrNotFound) { // 503, and not 404
		t.Errorf("finish with a blob that is not there: %v", err)
	}
	if err := finish(digest); err != nil {
		t.Error(err)
	}
}

// TestOutputsWithoutDisk checks that the report of a job waits while its output cannot be stored, and that a sweep keeps
// what the report names.
func TestOutputsWithoutDisk(t *testing.T) {
	c := settings(t)
	d := serving(t, c)
	// It runs for longer than the removal takes.
	d.submit("keeps", api.Job{Program: *text("#!/bin/sh\nsleep 5; echo kept\n"), Keep: api.Keep{Stdout: api.KeepAlways},
		Limits: api.Limits{WallTimeMS: 60_000}, Repeats: api.Repeats{Policy: api.Single}, Tests: []api.Test{{Name: "1"}}})
	uploads := filepath.Join(c.DataDir, "blobs", "tmp")
	if err := os.RemoveAll(uploads); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, patience, "the daemon to say it", func() bool {
		return strings.Contains(d.said(), "cannot store a report; retrying")
	})
	if r, err := d.Job(d.ctx, "keeps", 0); err != nil || r.State != api.Running {
		t.Errorf("state %s, %v; want running", r.State, err)
	}
	if err := os.Mkdir(uploads, 0o700); err != nil {
		t.Fatal(err)
	}
	r := d.finish("keeps")
	if len(r.Outputs) != 1 || d.readBlob(r.Outputs[0].Blob) != "kept\n" {
		t.Fatalf("outputs %+v", r.Outputs)
	}
	d.drain()
	ageBlobs(t, c) // as a clock that is set can
	d = serving(t, c)
	testkit.WaitFor(t, patience, "the program to be swept", func() bool { return len(contents(t, c)) == 1 })
	if got := d.readBlob(r.Outputs[0].Blob); got != "kept\n" {
		t.Errorf("the output is %q", got)
	}
	d.drain()
}
