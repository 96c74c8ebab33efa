package judgehost

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

const (
	cHead = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
	// The interactor sends the number in the input and expects its double.
	interactorC = cHead + `int main(int n, char **a) {
	int x, y;
	fscanf(fopen(a[1], "r"), "%d", &x);
	if (x == 99) return 7;
	printf("%d\n", x);
	fflush(stdout);
	if (scanf("%d", &y) != 1 || y != 2 * x) return 43;
	return 42;
}
`
	// The checker expects the double of the number of the pass, asks for a second pass with another number, and gives a
	// score at the end. It writes to all of its outputs.
	scoringC = cHead + `FILE *at(char *dir, const char *name) {
	char path[500];
	snprintf(path, sizeof path, "%s%s", dir, name);
	return fopen(path, "a+");
}
int main(int n, char **a) {
	int x, y = -1;
	FILE *f = at(a[3], "number"), *g;
	if (fscanf(f, "%d", &x) != 1) {
		fscanf(fopen(a[1], "r"), "%d", &x);
		fprintf(f, "%d", x + 1);
		fclose(f);
		f = 0;
	}
	scanf("%d", &y);
	fprintf(at(a[3], "judgemessage.txt"), "got %d", y);
	fprintf(at(a[3], "teammessage.txt"), "to the team");
	puts("on stdout");
	fputs("on stderr\n", stderr);
	if (y != 2 * x) return 43;
	if (!f) fprintf(at(a[3], "nextpass.in"), "%d\n", x + 1);
	else fprintf(at(a[3], "score.txt"), "%d.5\n", x);
	return 42;
}
`
	doubles = cHead + `int main(){int a;scanf("%d",&a);printf("%d\n",2*a);}`
)

// TestNativeJury: interactors, passes, scores and messages are those of the jury's programs.
func TestNativeJury(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	w := newNativeWorld(t)
	interactor := w.AddExecutable(domserver.File{Name: "interact.c", Content: interactorC})
	scoring := w.AddExecutable(domserver.File{Name: "build", Content: "#!/bin/sh\ngcc -O1 score.c -o run\n", Exec: true},
		domserver.File{Name: "score.c", Content: scoringC})
	cases := []domserver.Testcase{w.AddTestcase("1\n", "2\n"), w.AddTestcase("21\n", "42\n")}
	talk := domserver.Problem{TimeLimit: 1, Run: interactor, Compare: w.compare, Combined: true, Tests: cases}
	passes := domserver.Problem{TimeLimit: 1, Run: w.run, Compare: scoring, Passes: 2, Scoring: true, Tests: cases}
	onePass := passes
	onePass.Passes = 1
	broken := talk
	broken.Tests = []domserver.Testcase{w.AddTestcase("99\n", "")}
	withArgs := domserver.Problem{TimeLimit: 1, Run: w.run, Compare: w.compare, Tests: []domserver.Testcase{cases[0]}}
	withArgs.Tests[0].Args = "a  b"
	for _, tt := range []struct {
		name, text string
		problem    domserver.Problem
		result     string
		results    []string
		want       map[string]string // members of the first result
		kind       string            // of the internal error
	}{
		{name: "interactive", text: doubles, problem: talk, result: "correct", results: []string{"correct", "correct"},
			want: map[string]string{"output_run": "", "score": ""}},
		{name: "interactive, wrong", text: cHead + `int main(){int a;scanf("%d",&a);puts("2");fflush(stdout);if(a>1)sleep(9);}`, problem: talk,
			result: "wrong-answer", results: []string{"correct", "wrong-answer"}},
		{name: "interactive, too slow", text: cHead + `int main(){for(;;);}`, problem: talk, result: "timelimit",
			results: []string{"timelimit", ""}},
		{name: "interactive, crash", text: cHead + `int main(){abort();}`, problem: talk, result: "run-error",
			results: []string{"run-error", ""}},
		{name: "interactor fails", text: doubles, problem: broken, result: "internal-error", results: []string{""},
			kind: "run_script"},
		{name: "two passes", text: doubles, problem: passes, result: "correct", results: []string{"correct", "correct"},
			want: map[string]string{"score": "2.5", "team_message": "to the teamto the team",
				"output_diff": "got 2got 4\n---------- output validator (stdout) messages ----------\non stdout" +
					"\n---------- output validator (stderr) messages ----------\non stderr"}},
		{name: "wrong in the second pass", text: cHead + `int main(){int a;scanf("%d",&a);printf("%d\n",a==1?2:0);}`,
			problem: passes, result: "wrong-answer", results: []string{"wrong-answer", ""},
			want: map[string]string{"pass": "2", "score": ""}},
		{name: "more passes than allowed", text: doubles, problem: onePass, result: "correct",
			results: []string{"correct", "correct"}},
		{name: "arguments", text: cHead + `int main(){puts("7");}`, problem: withArgs, result: "wrong-answer",
			results: []string{"wrong-answer"}, want: map[string]string{"output_diff": "want 2 got 7 arg a arg b"}},
		{name: "checker fails", text: cHead + `int main(){puts("crash");}`, problem: withArgs, result: "internal-error",
			results: []string{""}, kind: "compare_script"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			own := *w.world
			own.t = t
			before := len(w.Errors())
			id := w.Submit(domserver.Submission{Language: w.c, Problem: tt.problem,
				Files: []domserver.File{{Name: "a.c", Content: tt.text}}})
			stop := own.start(openEngine(t, &own, 1))
			own.await(id)
			stop()
			j := w.Judging(id)
			if diff := cmp.Diff(tt.results, results(j)); diff != "" || j.Result != tt.result {
				t.Errorf("result %q, want %q; -want +got\n%s", j.Result, tt.result, diff)
			}
			for name, want := range tt.want {
				if got := j.Tasks[0].Results[0].Values[name]; got != want {
					t.Errorf("%s %q, want %q", name, got, want)
				}
			}
			errs := w.Errors()[before:]
			if tt.kind == "" && len(errs) > 0 || tt.kind != "" && (len(errs) != 1 || errs[0].Kind != tt.kind) {
				t.Errorf("internal errors %+v", errs)
			}
			own.clean()
		})
	}
}
