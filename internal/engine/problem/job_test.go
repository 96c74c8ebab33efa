package problem

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// TestJudgingNames: a job names the programs of the jury as in the package.
func TestJudgingNames(t *testing.T) {
	for _, tt := range []struct {
		name                string
		files               pack
		checker, interactor string
	}{
		{"checker", pack{"problem.yaml": "name: x\nvalidation: custom\n", "output_validators/v/v.py": ""},
			"output_validators/v", ""},
		{"interactor", pack{"problem.yaml": "name: x\nvalidation: custom interactive\n", "output_validators/talk.py": ""},
			"", "output_validators/talk.py"},
		{"none", pack{"problem.yaml": "name: x\n"}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rest := pack{".timelimit": "1", "data/secret/1.in": "", "data/secret/1.ans": "", "submissions/accepted/a.py": ""}
			p, err := openTest(t, tt.files.with(rest).folder(t))
			if err != nil {
				t.Fatal(err)
			}
			j, err := p.Judging(api.Job{})
			if err != nil {
				t.Fatal(err)
			}
			got := [2]string{j.Checker.Name}
			if j.Interactor != nil {
				got[1] = j.Interactor.Name
			}
			if diff := cmp.Diff([2]string{tt.checker, tt.interactor}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
