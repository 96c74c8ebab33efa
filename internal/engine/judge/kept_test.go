package judge_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/testkit"
)

// kept lists the outputs that a job keeps.
func kept(r api.Report) (all []string) {
	for _, t := range r.Tests {
		for _, k := range t.Kept {
			line := fmt.Sprintf("%s %s%s %.20q of %d", k.Test, k.Stream, k.Name, k.Content, k.Bytes)
			if k.Truncated {
				line += ", cut"
			}
			if k.Missing {
				line += ", missing"
			}
			if k.Content == nil {
				line += ", nothing"
			}
			all = append(all, line)
		}
	}
	return all
}

// TestKept runs shell scripts, some of which create something other than a file in place of the collected file.
func TestKept(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	always := api.Keep{Stdout: api.KeepAlways, Stderr: api.KeepAlways, Bytes: 4}
	const missing = `1 fileout "" of 0, missing, nothing`
	for _, tt := range []struct {
		name, script string
		job          api.Job
		want         []string
	}{
		{"nothing", "echo 1; echo 2 >&2; echo 3 > out", api.Job{}, nil},
		{"streams", "echo 1; echo error >&2", api.Job{Keep: always},
			[]string{`1 stdout "1\n" of 2`, `1 stderr "erro" of 6, cut`}},
		{"empty", "", api.Job{Keep: always}, []string{`1 stdout "" of 0`, `1 stderr "" of 0`}},
		{"of failed tests", "echo 1; echo 2 >&2", api.Job{Keep: api.Keep{Stdout: api.KeepFailed, Stderr: api.KeepAlways}},
			[]string{`1 stderr "2\n" of 2`}},
		{"of a failed test", "echo 1; exit 1", api.Job{Keep: api.Keep{Stdout: api.KeepFailed, Stderr: api.KeepNever}},
			[]string{`1 stdout "1\n" of 2`}},
		{"stderr in stdout", "echo 1; echo 2 >&2; echo 3", api.Job{StderrToStdout: true, Keep: api.Keep{
			Stdout: api.KeepAlways, Stderr: api.KeepAlways}}, []string{`1 stdout "1\n2\n3\n" of 6`, `1 stderr "" of 0`}},
		{"what the head lacks", `echo 123; printf '\377' >&2`, api.Job{Head: 4, Keep: api.Keep{Stdout: api.KeepCut,
			Stderr: api.KeepCut}}, []string{`1 stderr "\xff" of 1`}},
		{"what does not fit into the head", "echo 123", api.Job{Head: 3, Keep: api.Keep{Stdout: api.KeepCut}},
			[]string{`1 stdout "123\n" of 4`}},
		{"over a limit", "echo 1; yes >&2", api.Job{Keep: api.Keep{Stdout: api.KeepFailed}},
			[]string{`1 stdout "1\n" of 2`}},
		{"not executable", "", api.Job{Command: []string{"/nowhere"}, Keep: always}, nil},

		{"a file", "echo 3 > out", api.Job{Collect: []string{"out"}}, []string{`1 fileout "3\n" of 2`}},
		{"two files", "echo 3 > out; echo 4 > b", api.Job{Collect: []string{"b", "out"}},
			[]string{`1 fileb "4\n" of 2`, `1 fileout "3\n" of 2`}},
		{"the start of a file", "echo 12345 > out", api.Job{Keep: api.Keep{Bytes: 4}, Collect: []string{"out"}},
			[]string{`1 fileout "1234" of 6, cut`}},
		{"no file", "", api.Job{Collect: []string{"out"}}, []string{missing}},
		{"a file without permissions", "echo 3 > out; chmod 0 out", api.Job{Collect: []string{"out"}},
			[]string{`1 fileout "3\n" of 2`}},
		{"a link to a file of the host", "ln -s /etc/shadow out", api.Job{Collect: []string{"out"}}, []string{missing}},
		{"a link to another file", "echo 3 > b; ln -s b out", api.Job{Collect: []string{"out"}}, []string{missing}},
		{"a pipe", "mkfifo out", api.Job{Collect: []string{"out"}}, []string{missing}},
		{"a folder", "mkdir out", api.Job{Collect: []string{"out"}}, []string{missing}},
		{"an input", "", api.Job{Files: map[string]api.File{"out": {Part: "/etc/hostname"}}, Collect: []string{"out"}},
			[]string{missing}},
		{"the named input", "", api.Job{InputFile: "out", Collect: []string{"out"}}, []string{missing}},
		{"a sparse file", "dd if=/dev/zero of=out bs=1 count=1 seek=60000000 2> /dev/null",
			api.Job{Keep: api.Keep{Bytes: 2}, Collect: []string{"out"}}, []string{`1 fileout "\x00\x00" of 60000001, cut`}},
		{"a process stays", "echo 3 > out; (while :; do echo 4 >> out; done) & exit 0",
			api.Job{Keep: api.Keep{Bytes: 2}, Collect: []string{"out"}}, []string{`1 fileout "3\n" of`}},
		{"the named output", "echo 3 > out", api.Job{OutputFile: "out", Collect: []string{"out"}},
			[]string{`1 fileout "3\n" of 2`}},
		{"the named output, not written", "", api.Job{OutputFile: "out", Collect: []string{"out"}},
			[]string{`1 fileout "" of 0`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := tt.job
			if j.Command == nil {
				j.Command = []string{"sh", "-c", tt.script}
			}
			j.Tests, j.Repeats = []api.Test{{Name: "1", Input: &api.File{Part: "/etc/hostname"}}}, api.Repeats{Min: 2}
			r := judgeTalk(t, eng, j)
			got := kept(r)
			if tt.name == "a process stays" && len(got) == 1 { // its size is unknown
				got[0] = got[0][:min(len(got[0]), len(tt.want[0]))]
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s%s", diff, tell(r))
			}
		})
	}
}

// TestKeptOfTalk: a program with an interactor has no stdout to keep.
func TestKeptOfTalk(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	talker := api.File{Part: testkit.JuryProgram(t, "talker")}
	r := judgeTalk(t, eng, api.Job{Command: []string{"sh", "-c", "echo 3 > out; echo 2 >&2; echo 1"},
		Interactor: &api.Interactor{Kind: "icpc", Program: talker, Args: []string{"exit=42"}},
		Tests:      []api.Test{{Name: "1"}}, Keep: api.Keep{Stdout: api.KeepAlways, Stderr: api.KeepAlways},
		Collect: []string{"out"}})
	want := []string{`1 stderr "2\n" of 2`, `1 fileout "3\n" of 2`}
	if diff := cmp.Diff(want, kept(r)); diff != "" {
		t.Errorf("-want +got\n%s%s", diff, tell(r))
	}
}

// TestKeptIsBounded: the outputs that a job keeps are within its total; tests that run first get more of it.
func TestKeptIsBounded(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	c := config.Default()
	c.Limits.Max.KeepJob = 5
	r := judgeWith(t, eng, c, api.Job{Command: []string{"sh", "-c", "printf abc"}, Keep: api.Keep{Stdout: api.KeepAlways},
		Tests: []api.Test{{Name: "1"}, {Name: "2"}, {Name: "3"}}})
	want := []string{`1 stdout "abc" of 3`, `2 stdout "ab" of 3, cut`, `3 stdout "" of 3, cut, nothing`}
	if diff := cmp.Diff(want, kept(r)); diff != "" {
		t.Errorf("-want +got\n%s%s", diff, tell(r))
	}
}
