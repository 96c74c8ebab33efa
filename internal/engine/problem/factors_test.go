package problem

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// TestFactors checks that a job has the factors of its language, and the errors of invalid files.
func TestFactors(t *testing.T) {
	for _, tt := range []struct {
		text string
		want api.Factors // factors of Python
		err  string
	}{
		{"[factors.java]\ntime_ratio = 2", api.Factors{}, ""},
		{"[factors.python]\ntime_ratio = 2\nmemory_ratio = 1.5", api.Factors{Time: 2, Memory: 1.5}, ""},
		{"[factors.python]\ntime_ratio = 0.01", api.Factors{},
			"judged-problem.toml: factors.python.time_ratio: 0.01 is out of range; send 0.1 to 100"},
		{"[factors.python]\ntime = 2", api.Factors{}, "judged-problem.toml:2: factors.python.time: unknown key; use " +
			"factors.LANGUAGE.time_ratio and memory_ratio"},
		{"[factors", api.Factors{}, "judged-problem.toml: toml: "},
	} {
		p, err := openTest(t, pack{"problem.yaml": "name: x\n", ".timelimit": "1", "data/secret/1.in": "",
			"data/secret/1.ans": "", "judged-problem.toml": tt.text}.folder(t))
		if err != nil || tt.err != "" {
			if tt.err == "" || err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want %q", tt.text, err, tt.err)
			}
			continue
		}
		j, err := p.Judging(api.Job{Language: "python"})
		if err != nil || j.ProblemFactors != tt.want || len(p.Findings) > 0 {
			t.Errorf("%q: factors %v, want %v; findings %q, %v", tt.text, j.ProblemFactors, tt.want, p.Findings, err)
		}
		p.CheckFactors(func(string) error { return &api.LanguageUnavailableError{Language: "x", Reason: "unknown"} })
		want := []string{`judged-problem.toml: factors of a language that this host does not support: language "x": unknown`}
		if diff := cmp.Diff(want, p.Findings); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
	}
}
