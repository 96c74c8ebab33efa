package judge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/testkit"
)

// TestEnvironment: a program gets the variables of its job in every environment; programs of the jury do not get them.
func TestEnvironment(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Python)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	const show = `echo "$A,$B,$HOME,$(grep -zc ^HOME= /proc/$$/environ),$TMPDIR"`
	// The programs of the jury accept the expected values and report the values that they see.
	const seen = `echo "A=$A HOME=$HOME" >> $3/judgemessage.txt; `
	const want, unseen = "a b=c,,/tmp,1,/tmp\n", "A= HOME=/box/work"
	empty, input := api.File{Part: written(t, "")}, api.File{Part: written(t, "one\n")}
	checker := shell(t, seen+`exit 42`)
	again := shell(t, seen+`read x < $1; [ "$x" = one ] && echo two > $3/nextpass.in; exit 42`)
	interactor := shell(t, seen+`read x; [ "$x" = "a b=c" ] && exit 42; exit 43`)
	python := api.File{Part: written(t, "import os\nprint(os.environ['A'], os.environ['HOME'])\n")}
	for _, tt := range []struct {
		name   string
		job    api.Job
		stdout string // of the program; output to an interactor is not kept
		jury   string // message of the program of the jury
	}{
		{"program", api.Job{Program: shell(t, show)}, want, ""},
		{"command", api.Job{Command: []string{"sh", "-c", show}}, want, ""},
		{"checker", api.Job{Program: shell(t, show), Checker: &api.Checker{Kind: "icpc", Program: &checker}}, want,
			unseen},
		{"passes", api.Job{Program: shell(t, "read x; [ $x = two ] || sleep 0; "+show), Passes: 2,
			Checker: &api.Checker{Kind: "icpc", Program: &again}}, want, unseen + "\n" + unseen},
		{"interactor", api.Job{Program: shell(t, `echo "$A"`),
			Interactor: &api.Interactor{Kind: "icpc", Program: interactor}}, "", unseen},
		{"language", api.Job{Language: "python", Program: python}, "a b=c /tmp\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := tt.job
			j.Env = map[string]string{"A": "a b=c", "B": "", "HOME": "/tmp"}
			j.Head, j.Tests = 64, []api.Test{{Name: "1", Input: &input, Answer: &empty}}
			if j.Checker == nil && j.Interactor == nil {
				j.Tests[0].Answer = nil
			}
			r := judgeTalk(t, eng, j)
			stdout, message := "", ""
			if h := r.Tests[0].StdoutHead; h != nil {
				stdout = *h
			}
			if c := r.Tests[0].Checker; c != nil {
				message = c.Message
			}
			got, want := []string{string(r.Verdict), stdout, message}, []string{"AC", tt.stdout, tt.jury}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("verdict, stdout, message of the jury (-want +got):\n%s%s", diff, tell(r))
			}
		})
	}
}
