package daemon

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"judged/internal/api"
	"judged/internal/testkit"
)

// program uploads one of the sample programs, statically linked.
func (i *instance) program(path string) api.File {
	i.t.Helper()
	digest, err := i.PutBlobFile(i.ctx, binary(i.t, path))
	if err != nil {
		i.t.Fatalf("upload %s: %v", path, err)
	}
	return api.File{Blob: digest}
}

func binary(t testing.TB, path string) string {
	t.Helper()
	return testkit.CompileC(t, filepath.Join(testkit.RepoRoot(t), "testdata", "submissions", path), true)
}

func text(s string) *api.File { return &api.File{Text: &s} }

// sum returns a job with one test that asks for 1 + n. With wrong, the job expects another answer.
func (i *instance) sum(n int, wrong bool) api.Job {
	i.t.Helper()
	answer := 1 + n
	if wrong {
		answer++
	}
	return api.Job{
		Program: i.program("sum/AC-sum.c"),
		Tests:   []api.Test{{Name: "1", Input: text(fmt.Sprintf("2\n1 %d\n", n)), Answer: text(strconv.Itoa(answer))}},
	}
}

// busy returns a job that computes for the given time and is then accepted.
func (i *instance) busy(ms int) api.Job {
	i.t.Helper()
	return api.Job{
		Program: i.program("measure/spin.c"), Command: []string{"{program}", "1", "100", strconv.Itoa(ms)},
		Tests: []api.Test{{Name: "1"}}, Limits: api.Limits{CPUTimeMS: 60_000, WallTimeMS: 120_000},
		Repeats: api.Repeats{Policy: api.Single},
	}
}
