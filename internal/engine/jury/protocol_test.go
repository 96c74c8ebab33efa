package jury

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
)

func points(n float64) *float64 { return &n }

// TestCheckerProtocols holds what each exit code of each protocol means. A test without want is a checker at fault.
func TestCheckerProtocols(t *testing.T) {
	for _, tt := range []struct {
		name     string
		protocol Protocol
		ending   ending
		want     job.CheckReport
		fault    string
	}{
		{"icpc accepts", ICPC, ending{code: 42}, job.CheckReport{Verdict: job.Accepted}, ""},
		{"icpc rejects", ICPC, ending{code: 43, judge: "line 3", team: "no", stderr: "noise"},
			job.CheckReport{Verdict: job.WrongAnswer, Message: "line 3", TeamMessage: "no"}, ""},
		{"icpc without a judgemessage", ICPC, ending{code: 43, stderr: "line 3"},
			job.CheckReport{Verdict: job.WrongAnswer, Message: "line 3"}, ""},
		{"icpc with a part of the score", ICPC, ending{code: 42, score: "0.25"},
			job.CheckReport{Verdict: job.Partial, Score: points(0.25)}, ""},
		{"icpc with the full score", ICPC, ending{code: 42, score: "1"},
			job.CheckReport{Verdict: job.Accepted, Score: points(1)}, ""},
		{"icpc rejects, whatever the score", ICPC, ending{code: 43, score: "1"},
			job.CheckReport{Verdict: job.WrongAnswer}, ""},
		{"icpc with a malformed score", ICPC, ending{code: 42, score: "full"}, job.CheckReport{},
			`read score.txt: "full" is not a number of at least 0`},
		{"icpc with a part of the points", ICPC, ending{code: 42, multiplier: "0.25"},
			job.CheckReport{Verdict: job.Partial, Score: points(0.25), Ratio: true}, ""},
		{"icpc with all points", ICPC, ending{code: 42, multiplier: "1.0"},
			job.CheckReport{Verdict: job.Accepted, Score: points(1), Ratio: true}, ""},
		{"icpc with more than all points", ICPC, ending{code: 42, multiplier: "1.5"}, job.CheckReport{},
			"read score_multiplier.txt: 1.5 is above 1"},
		{"icpc with a malformed part", ICPC, ending{code: 42, multiplier: "half"}, job.CheckReport{},
			`read score_multiplier.txt: "half" is not a number of at least 0`},
		{"icpc with points and a part of them", ICPC, ending{code: 42, score: "1", multiplier: "1"}, job.CheckReport{},
			"wrote score.txt and score_multiplier.txt; the format allows one of them"},
		{"icpc rejects, whatever the part", ICPC, ending{code: 43, multiplier: "1"},
			job.CheckReport{Verdict: job.WrongAnswer}, ""},
		{"icpc 0", ICPC, ending{}, job.CheckReport{},
			"exited with status 0; the protocol knows 42 (accept) and 43 (reject)"},
		{"icpc 1", ICPC, ending{code: 1}, job.CheckReport{},
			"exited with status 1; the protocol knows 42 (accept) and 43 (reject)"},

		{"testlib ok", Testlib, ending{stderr: "ok 3 numbers"},
			job.CheckReport{Verdict: job.Accepted, Message: "ok 3 numbers"}, ""},
		{"testlib wrong", Testlib, ending{code: 1, stderr: "wrong answer 1 differs"},
			job.CheckReport{Verdict: job.WrongAnswer, Message: "wrong answer 1 differs"}, ""},
		{"testlib presentation", Testlib, ending{code: 2}, job.CheckReport{Verdict: job.PresentationError}, ""},
		{"testlib fail", Testlib, ending{code: 3}, job.CheckReport{},
			"exited with status 3 (fail): the input, the answer or the checker is wrong"},
		{"testlib dirt", Testlib, ending{code: 4}, job.CheckReport{Verdict: job.PresentationError}, ""},
		{"testlib points", Testlib, ending{code: 7, stderr: "points 30.5 good"},
			job.CheckReport{Verdict: job.Partial, Score: points(30.5), Message: "points 30.5 good"}, ""},
		{"testlib points without a prefix", Testlib, ending{code: 7, stderr: "0.5"},
			job.CheckReport{Verdict: job.Partial, Score: points(0.5), Message: "0.5"}, ""},
		{"testlib no points", Testlib, ending{code: 7, stderr: "points 0 nothing"},
			job.CheckReport{Verdict: job.WrongAnswer, Score: points(0), Message: "points 0 nothing"}, ""},
		{"testlib points without a number", Testlib, ending{code: 7, stderr: "points many"}, job.CheckReport{},
			`read the score of exit status 7 (points) in its message: "many" is not a number of at least 0`},
		{"testlib unexpected end", Testlib, ending{code: 8}, job.CheckReport{Verdict: job.PresentationError}, ""},
		{"testlib partial", Testlib, ending{code: 3, stderr: "partially correct (3) of 5"},
			job.CheckReport{Verdict: job.Partial, Score: points(3), Message: "partially correct (3) of 5"}, ""},
		{"testlib partial with TESTSYS", Testlib, ending{code: 120, stderr: "partially correct (70)"},
			job.CheckReport{Verdict: job.Partial, Score: points(70), Message: "partially correct (70)"}, ""},
		{"testlib partial of another code", Testlib, ending{code: 9, stderr: "partially correct (70)"},
			job.CheckReport{}, "exited with status 9, which testlib does not have"},
		{"testlib with a result file", Testlib, ending{code: 1, stderr: "See file to check exit message",
			report: "wrong answer 2"},
			job.CheckReport{Verdict: job.WrongAnswer, Message: "wrong answer 2"}, ""},
		{"testlib 42", Testlib, ending{code: 42}, job.CheckReport{},
			"exited with status 42, which testlib does not have"},

		{"cms full", CMS, ending{stdout: "1.0\n", stderr: "translate:success\n"},
			job.CheckReport{Verdict: job.Accepted, Score: points(1), Message: "Output is correct"}, ""},
		{"cms nothing", CMS, ending{stdout: "0", stderr: "too long"},
			job.CheckReport{Verdict: job.WrongAnswer, Score: points(0), Message: "too long"}, ""},
		{"cms a part", CMS, ending{stdout: "0.5\nmore", stderr: "half\nmore"},
			job.CheckReport{Verdict: job.Partial, Score: points(0.5), Message: "half"}, ""},
		{"cms above full", CMS, ending{stdout: "2"}, job.CheckReport{},
			"read the score in the first line of stdout: 2 is above 1"},
		{"cms not a number", CMS, ending{stdout: "nan"}, job.CheckReport{},
			`read the score in the first line of stdout: "nan" is not a number of at least 0`},
		{"cms without a score", CMS, ending{}, job.CheckReport{},
			`read the score in the first line of stdout: "" is not a number of at least 0`},
		{"cms 1", CMS, ending{code: 1, stdout: "1"}, job.CheckReport{},
			"exited with status 1; the protocol wants 0 whatever the score"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.protocol.read(tt.ending)
			fault := ""
			if err != nil {
				got, fault = job.CheckReport{}, err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.fault, fault); diff != "" {
				t.Errorf("fault (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheckerArgs: three protocols, three orders.
func TestCheckerArgs(t *testing.T) {
	args := []string{"{report}", "-appes"}
	for protocol, want := range map[Protocol][]string{
		ICPC:    {"/box/input", "/box/answer", "/box/feedback/", "{report}", "-appes"},
		Testlib: {"/box/input", "/box/output", "/box/answer", "/box/feedback/report", "-appes"},
		CMS:     {"/box/input", "/box/answer", "/box/output", "{report}", "-appes"},
	} {
		if diff := cmp.Diff(want, protocol.checkerArgs(args)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", protocol, diff)
		}
	}
}
