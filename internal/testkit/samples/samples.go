package samples

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/engine/problem"
	"judged/internal/testkit"
)

// Set is the content of samples.json.
type Set struct {
	Flags   []string // flags of gcc, for all samples in C
	Samples []Sample // in the order of the file
}

// Sample is a program and its expected results.
type Sample struct {
	Name    string
	Source  string                // path on this host
	Static  bool                  // statically linked; only for C
	Link    []string              // additional flags of gcc
	Needs   []testkit.Requirement // additional requirements
	Arch    string                // the only GOARCH it is for, "" for all
	CPUs    int                   // CPUs of the slot, at least 1
	Demo    bool                  // used by make demo
	Want    Want
	Program string // path of the built program, "" before Build

	job   api.Job // without the program and the tests
	tests []problem.Test
}

// Want is the expected part of a report. Zero values are ignored.
type Want struct {
	Verdict     api.Verdict // of the whole job
	Exit        *api.Exit   // of the deciding test
	FailingTest string
	MemoryPeak  *Range
}

// Range is an inclusive range of sizes.
type Range struct {
	Min units.Bytes `json:"min"`
	Max units.Bytes `json:"max"`
}

// file and entry are the JSON format of samples.json.
type file struct {
	Compile []string `json:"compile"`
	Samples []entry  `json:"samples"`
}

type entry struct {
	Name        string                `json:"name"`
	Source      string                `json:"source"`
	Problem     string                `json:"problem"`
	Verdict     api.Verdict           `json:"verdict"`
	Static      bool                  `json:"static"`
	Checker     string                `json:"checker"`
	Limits      api.Limits            `json:"limits"`
	Repeats     api.Repeats           `json:"repeats"`
	Command     []string              `json:"command"`
	CPUs        int                   `json:"cpus"`
	Exit        *api.Exit             `json:"exit"`
	FailingTest string                `json:"failing_test"`
	MemoryPeak  *Range                `json:"memory_peak_bytes"`
	Needs       []testkit.Requirement `json:"needs"`
	Arch        string                `json:"arch"`
	Link        []string              `json:"link"`
	Demo        bool                  `json:"demo"`
}

// Read reads a samples.json. Unknown keys, duplicate names and problems without tests are errors. Paths in it
// are relative to its folder.
func Read(path string) (Set, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Set{}, fmt.Errorf("read samples: %w; name testdata/samples.json of the repository", err)
	}
	s, err := parse(data, filepath.Dir(path))
	if err != nil {
		return Set{}, fmt.Errorf("read samples %q: %w", path, err)
	}
	return s, nil
}

func parse(data []byte, dir string) (Set, error) {
	var f file
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return Set{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Set{}, errors.New("there is more after the object; remove it")
	}
	if len(f.Samples) == 0 {
		return Set{}, errors.New("it has no samples; add one")
	}
	set := Set{Flags: f.Compile}
	names, problems := map[string]bool{}, map[string][]problem.Test{}
	for _, e := range f.Samples {
		if e.Name == "" || names[e.Name] {
			return Set{}, fmt.Errorf("sample %q: every sample needs a unique name", e.Name)
		}
		names[e.Name] = true
		if err := readProblem(problems, dir, e.Problem); err != nil {
			return Set{}, fmt.Errorf("sample %q: %w", e.Name, err)
		}
		set.Samples = append(set.Samples, e.sample(dir, problems[e.Problem]))
	}
	return set, nil
}

func readProblem(known map[string][]problem.Test, dir, name string) error {
	if known[name] != nil {
		return nil
	}
	tests, err := problem.OpenTests(context.Background(), filepath.Join(dir, name), false)
	if err != nil {
		return err
	}
	for _, t := range tests.Tests { // copies, which Close removes
		t.Input = filepath.Join(dir, name, filepath.Base(t.Input))
		t.Answer = filepath.Join(dir, name, filepath.Base(t.Answer))
		known[name] = append(known[name], t)
	}
	return tests.Close()
}

func (e entry) sample(dir string, tests []problem.Test) Sample {
	return Sample{
		Name: e.Name, Source: filepath.Join(dir, e.Source), Static: e.Static, Link: e.Link, Needs: e.Needs,
		Arch: e.Arch, CPUs: max(e.CPUs, 1), Demo: e.Demo,
		Want: Want{Verdict: e.Verdict, Exit: e.Exit, FailingTest: e.FailingTest, MemoryPeak: e.MemoryPeak},
		job: api.Job{Command: e.Command, Checker: &api.Checker{Kind: e.Checker}, Limits: e.Limits,
			CPUs: max(e.CPUs, 1), Repeats: e.Repeats},
		tests: tests,
	}
}

// FitsArch reports whether the sample is for this processor.
func (s Sample) FitsArch() bool { return s.Arch == "" || s.Arch == runtime.GOARCH }

// Job returns the sample as a job. Its files are given by their paths on this host.
func (s Sample) Job() api.Job {
	j := s.job
	j.Program = api.File{Part: s.Program}
	for _, t := range s.tests {
		j.Tests = append(j.Tests, api.Test{Name: t.Name, Input: &api.File{Part: t.Input},
			Answer: &api.File{Part: t.Answer}})
	}
	return j
}

// Differences describes how a report differs from the expected one, one line each.
func (w Want) Differences(r api.Report) []string {
	var all []string
	differ := func(what string, want, got any) {
		all = append(all, fmt.Sprintf("%s: want %v, got %v", what, want, got))
	}
	if r.Verdict != w.Verdict {
		differ("verdict", w.Verdict, r.Verdict)
	}
	decisive := deciding(r)
	if w.FailingTest != "" && decisive.Name != w.FailingTest {
		differ("failing test", w.FailingTest, decisive.Name)
	}
	if w.Exit != nil && exitText(decisive.Exit) != exitText(w.Exit) {
		differ("exit", exitText(w.Exit), exitText(decisive.Exit))
	}
	switch p := r.MemoryPeak; {
	case w.MemoryPeak == nil:
	case p == nil:
		differ("memory peak", "one", "none")
	case *p < w.MemoryPeak.Min || *p > w.MemoryPeak.Max:
		differ("memory peak", fmt.Sprintf("%d to %d bytes", w.MemoryPeak.Min, w.MemoryPeak.Max), int64(*p))
	}
	return all
}

// deciding returns the test that determines the job's verdict.
func deciding(r api.Report) api.TestReport {
	for _, t := range r.Tests {
		if t.Verdict.Failed() {
			return t
		}
	}
	return api.TestReport{}
}

func exitText(e *api.Exit) string {
	switch {
	case e == nil:
		return "none"
	case e.Code != nil:
		return fmt.Sprintf("code %d", *e.Code)
	}
	return strings.TrimSpace("signal " + e.Signal)
}
