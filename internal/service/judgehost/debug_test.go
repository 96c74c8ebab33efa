package judgehost

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// TestDebug: the server gets the complete output of a test, and an archive of the data of a judging.
func TestDebug(t *testing.T) {
	w := newWorld(t)
	w.Settings["output_storage_limit"] = 2
	id := w.submit(w.problem("1", "2"), "")
	w.start(newFakeEngine(1))
	j := w.await(id)
	if got := j.Tasks[1].Results[0].Values["output_run"]; got != "ou\n[output storage truncated after 2 B]\n" {
		t.Errorf("output %q", got)
	}
	script := w.AddExecutable(domserver.File{Name: "run", Content: "tar", Exec: true})
	output, full := w.Debug("host-0", id, 1, nil), w.Debug("host-0", id, 0, &script)
	testkit.WaitFor(t, patience, "answers", func() bool {
		return w.Task(output).Debug != nil && w.Task(full).Debug != nil
	})
	if diff := cmp.Diff(map[string]string{"output_run": "out\xff\n"}, w.Task(output).Debug); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	var names []string
	packed, err := gzip.NewReader(strings.NewReader(w.Task(full).Debug["full_debug"]))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(packed); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
	want := []string{fmt.Sprintf("%d/compile.out", id), fmt.Sprintf("%d/compile/main.txt", id)}
	for _, c := range j.Submission.Problem.Tests {
		for _, name := range strings.Fields("compare.meta judgemessage.txt program.err program.meta program.out " +
			"system.out") {
			want = append(want, fmt.Sprintf("%d/testcase%05d/1/%s", id, c.ID, name))
		}
	}
	slices.Sort(names)
	slices.Sort(want)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	w.clean()
}

// TestHistoryIsBounded: the oldest jobs are removed.
func TestHistoryIsBounded(t *testing.T) {
	h := newHistory(t.TempDir(), 30<<10)
	for _, job := range []stringOrNumber{"1", "2", "1", "3", "4"} {
		if err := h.put(job, "f", make([]byte, 5<<10)); err != nil {
			t.Fatal(err)
		}
	}
	var there []stringOrNumber
	for _, job := range []stringOrNumber{"1", "2", "3", "4"} {
		if _, err := h.get(job, "f"); err == nil {
			there = append(there, job)
		}
	}
	if diff := cmp.Diff([]stringOrNumber{"3", "4"}, there); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestDebugOfUnknownJob: the server gets an archive that says why it has no data. The jury would wait for ever.
func TestDebugOfUnknownJob(t *testing.T) {
	w := newWorld(t)
	id := w.submit(w.problem("1"), "")
	stop := w.start(newFakeEngine(1))
	w.await(id)
	stop()
	w.start(newFakeEngine(1)) // which has forgotten the outputs
	script := w.AddExecutable(domserver.File{Name: "run", Content: "tar", Exec: true})
	full := w.Debug("host-0", id, 0, &script)
	testkit.WaitFor(t, patience, "answer", func() bool { return w.Task(full).Debug != nil })
	packed, err := gzip.NewReader(strings.NewReader(w.Task(full).Debug["full_debug"]))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(packed)
	header, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if want := fmt.Sprintf("no outputs of job \"%d\" are stored", id); err != nil || header.Name != "README" ||
		!strings.Contains(string(text), want) {
		t.Errorf("%s: %s, %v", header.Name, text, err)
	}
	w.clean()
}
