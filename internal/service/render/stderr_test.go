package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/text"
)

func TestStderr(t *testing.T) {
	var lines []string
	for i := range 14 {
		lines = append(lines, fmt.Sprint(i))
	}
	many := strings.Join(lines, "\n")
	for name, tt := range map[string]struct {
		verdict api.Verdict
		head    *string
		want    string
	}{
		"a traceback": {api.RuntimeError, new("Traceback:\n  File \"a.py\"\n\tx\r\nValueError: y\n"),
			"stderr of test 1:\n  Traceback:\n    File \"a.py\"\n      x\n  ValueError: y\n"},
		"many lines": {api.WrongAnswer, &many,
			"stderr of test 1:\n  0\n  1\n  2\n  3\n  4\n  5\n  6\n  7\n  8\n  9\n  … (3 more lines)\n  13\n"},
		"a long line": {api.TimeLimit, new(strings.Repeat("é", 300)),
			"stderr of test 1:\n  " + strings.Repeat("é", longest) + "…\n"},
		"escapes":   {api.RuntimeError, new("\x1b[2J\u202e"), "stderr of test 1:\n  \ufffd[2J\ufffd\n"},
		"accepted":  {api.Accepted, new("debug"), ""},
		"nothing":   {api.RuntimeError, new("\n \n"), ""},
		"not asked": {api.RuntimeError, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			stderr(&b, text.Screen{}, api.Report{Tests: []api.TestReport{{Name: "0", Verdict: api.Accepted,
				StderrHead: new("of a test that passed")}, {Name: "1", Verdict: tt.verdict, StderrHead: tt.head}}})
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
