package jury

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/sandbox"
)

const icpc, testlib, cms, sio, bridged = api.ICPC, api.Testlib, api.CMS, api.SIO, api.Bridged

func points(n float64) *float64 { return &n }

// TestCheckerProtocols checks the meaning of each exit code in each protocol. A case without want is a fault of the
// checker.
func TestCheckerProtocols(t *testing.T) {
	for _, tt := range []struct {
		name     string
		protocol api.Protocol
		ending   ending
		want     api.CheckReport
		fault    string
	}{
		{"icpc accepts", icpc, ending{code: 42}, api.CheckReport{Verdict: api.Accepted}, ""},
		{"icpc rejects", icpc, ending{code: 43, judge: "line 3", team: "no", stderr: "noise"},
			api.CheckReport{Verdict: api.WrongAnswer, Message: "line 3", TeamMessage: "no"}, ""},
		{"icpc without a judgemessage", icpc, ending{code: 43, stderr: "line 3"},
			api.CheckReport{Verdict: api.WrongAnswer, Message: "line 3"}, ""},
		{"icpc with a part of the score", icpc, ending{code: 42, score: "0.25"},
			api.CheckReport{Verdict: api.Partial, Score: points(0.25), Accepts: true}, ""},
		{"icpc with the full score", icpc, ending{code: 42, score: "1"},
			api.CheckReport{Verdict: api.Accepted, Score: points(1), Accepts: true}, ""},
		{"icpc accepts without points", icpc, ending{code: 42, score: "0.0"},
			api.CheckReport{Verdict: api.WrongAnswer, Score: points(0), Accepts: true}, ""},
		{"icpc accepts with no part of the points", icpc, ending{code: 42, multiplier: "0"},
			api.CheckReport{Verdict: api.WrongAnswer, Score: points(0), Ratio: true, Accepts: true}, ""},
		{"icpc rejects with a score", icpc, ending{code: 43, score: "1"},
			api.CheckReport{Verdict: api.WrongAnswer}, ""},
		{"icpc with a malformed score", icpc, ending{code: 42, score: "full"}, api.CheckReport{},
			`read score.txt: "full" is not a number >= 0`},
		{"icpc with a part of the points", icpc, ending{code: 42, multiplier: "0.25"},
			api.CheckReport{Verdict: api.Partial, Score: points(0.25), Ratio: true, Accepts: true}, ""},
		{"icpc with all points", icpc, ending{code: 42, multiplier: "1.0"},
			api.CheckReport{Verdict: api.Accepted, Score: points(1), Ratio: true, Accepts: true}, ""},
		{"icpc with more than all points", icpc, ending{code: 42, multiplier: "1.5"}, api.CheckReport{},
			"read score_multiplier.txt: 1.5 is above 1"},
		{"icpc with a malformed part", icpc, ending{code: 42, multiplier: "half"}, api.CheckReport{},
			`read score_multiplier.txt: "half" is not a number >= 0`},
		{"icpc with points and a part of them", icpc, ending{code: 42, score: "1", multiplier: "1"}, api.CheckReport{},
			"wrote score.txt and score_multiplier.txt; the format allows only one of them"},
		{"icpc rejects with a part", icpc, ending{code: 43, multiplier: "1"},
			api.CheckReport{Verdict: api.WrongAnswer}, ""},
		{"icpc 0", icpc, ending{}, api.CheckReport{},
			"exited with status 0; the protocol defines 42 (accept) and 43 (reject)"},
		{"icpc 1", icpc, ending{code: 1}, api.CheckReport{},
			"exited with status 1; the protocol defines 42 (accept) and 43 (reject)"},

		{"testlib ok", testlib, ending{stderr: "ok 3 numbers"},
			api.CheckReport{Verdict: api.Accepted, Message: "ok 3 numbers"}, ""},
		{"testlib wrong", testlib, ending{code: 1, stderr: "wrong answer 1 differs"},
			api.CheckReport{Verdict: api.WrongAnswer, Message: "wrong answer 1 differs"}, ""},
		{"testlib presentation", testlib, ending{code: 2}, api.CheckReport{Verdict: api.PresentationError}, ""},
		{"testlib fail", testlib, ending{code: 3}, api.CheckReport{},
			"exited with status 3 (fail): the input, the answer or the checker is wrong"},
		{"testlib dirt", testlib, ending{code: 4}, api.CheckReport{Verdict: api.PresentationError}, ""},
		{"testlib points", testlib, ending{code: 7, stderr: "points 30.5 good"},
			api.CheckReport{Verdict: api.Partial, Score: points(30.5), Message: "points 30.5 good"}, ""},
		{"testlib points without a prefix", testlib, ending{code: 7, stderr: "0.5"},
			api.CheckReport{Verdict: api.Partial, Score: points(0.5), Message: "0.5"}, ""},
		{"testlib no points", testlib, ending{code: 7, stderr: "points 0 nothing"},
			api.CheckReport{Verdict: api.WrongAnswer, Score: points(0), Message: "points 0 nothing"}, ""},
		{"testlib points without a number", testlib, ending{code: 7, stderr: "points many"}, api.CheckReport{},
			`read the score of exit status 7 (points) in its message: "many" is not a number >= 0`},
		{"testlib points after debugging", testlib, ending{code: 7, stderr: "points of n: 5\nok so far\npoints 0.5 half"},
			api.CheckReport{Verdict: api.Partial, Score: points(0.5),
				Message: "points of n: 5\nok so far\npoints 0.5 half"}, ""},
		{"testlib points that the program wrote", testlib, ending{code: 7, stderr: "points 100\npoints 0 nothing"},
			api.CheckReport{Verdict: api.WrongAnswer, Score: points(0), Message: "points 100\npoints 0 nothing"}, ""},
		{"testlib points that the program wrote, in the message", testlib,
			ending{code: 7, stderr: "points 3 you wrote\npoints 100"},
			api.CheckReport{Verdict: api.Partial, Score: points(3), Message: "points 3 you wrote\npoints 100"}, ""},
		{"testlib points after a line like them", testlib, ending{code: 7, stderr: "points 100 of n\npoints many"},
			api.CheckReport{}, `read the score of exit status 7 (points) in its message: "many" is not a number >= 0`},
		{"testlib points without a prefix, after debugging", testlib, ending{code: 7, stderr: "n = 5\n0.5 half"},
			api.CheckReport{Verdict: api.Partial, Score: points(0.5), Message: "n = 5\n0.5 half"}, ""},
		{"testlib points that could be two", testlib, ending{code: 7, stderr: "5 numbers\n0.5 half"}, api.CheckReport{},
			`read the score of exit status 7 (points) in its message: 2 lines begin with points; want one, or one with ` +
				`"points N"`},
		{"testlib points without a message", testlib, ending{code: 7}, api.CheckReport{},
			`read the score of exit status 7 (points) in its message: 0 lines begin with points; want one, or one with ` +
				`"points N"`},
		{"testlib points at the code for accepted", testlib, ending{stderr: "points 0"}, api.CheckReport{},
			`exited with status 0 (ok) and wrote "points 0"`},
		{"testlib infinite points", testlib, ending{code: 7, stderr: "points 1e400"}, api.CheckReport{},
			`read the score of exit status 7 (points) in its message: "1e400" is above 1e+15`},
		{"testlib points beyond what a report can add up", testlib, ending{code: 7, stderr: "points 1e308"},
			api.CheckReport{}, `read the score of exit status 7 (points) in its message: "1e308" is above 1e+15`},
		{"icpc points beyond what a report can add up", icpc, ending{code: 42, score: "1e308"}, api.CheckReport{},
			`read score.txt: "1e308" is above 1e+15`},
		{"icpc infinite points", icpc, ending{code: 42, score: "inf"}, api.CheckReport{},
			`read score.txt: "inf" is above 1e+15`},
		{"icpc the most points", icpc, ending{code: 42, score: "1e15"},
			api.CheckReport{Verdict: api.Partial, Score: points(1e15), Accepts: true}, ""},
		{"testlib unexpected end", testlib, ending{code: 8}, api.CheckReport{Verdict: api.PresentationError}, ""},
		{"testlib partial", testlib, ending{code: 3, stderr: "partially correct (3) of 5"},
			api.CheckReport{Verdict: api.Partial, Score: points(3), Message: "partially correct (3) of 5"}, ""},
		{"testlib partial with TESTSYS", testlib, ending{code: 120, stderr: "partially correct (70)"},
			api.CheckReport{Verdict: api.Partial, Score: points(70), Message: "partially correct (70)"}, ""},
		{"testlib partial, nothing", testlib, ending{stderr: "partially correct (0) none"},
			api.CheckReport{Verdict: api.WrongAnswer, Score: points(0), Message: "partially correct (0) none"}, ""},
		{"testlib partial, nothing, after debugging", testlib, ending{stderr: "n = 5\npartially correct (0)"},
			api.CheckReport{Verdict: api.WrongAnswer, Score: points(0), Message: "n = 5\npartially correct (0)"}, ""},
		{"testlib partial, one point is not all", testlib, ending{code: 1, stderr: "partially correct (1)"},
			api.CheckReport{Verdict: api.Partial, Score: points(1), Message: "partially correct (1)"}, ""},
		{"testlib partial after debugging", testlib, ending{code: 13, stderr: "n = 5\npartially correct (13) some"},
			api.CheckReport{Verdict: api.Partial, Score: points(13), Message: "n = 5\npartially correct (13) some"}, ""},
		{"testlib partial that wraps", testlib, ending{code: 44, stderr: "partially correct (300)"},
			api.CheckReport{Verdict: api.Partial, Score: points(300), Message: "partially correct (300)"}, ""},
		{"testlib partial at the code for accepted", testlib, ending{stderr: "partially correct (70)"}, api.CheckReport{},
			`exited with status 0 (ok) and wrote "partially correct (70)"`},
		{"testlib partial without a number", testlib, ending{stderr: "partially correct (half)"}, api.CheckReport{},
			`exited with status 0 (ok) and wrote "partially correct (half)"`},
		{"testlib partial of more than a report can add up", testlib,
			ending{code: 0xff, stderr: "partially correct (9223372036854775807)"}, api.CheckReport{},
			"exited with status 255, which testlib does not define"},
		{"testlib partial that the program wrote, before ok", testlib,
			ending{stderr: "partially correct (0)\nok 3 numbers"},
			api.CheckReport{Verdict: api.Accepted, Message: "partially correct (0)\nok 3 numbers"}, ""},
		{"testlib partial that the program wrote, before a fault", testlib,
			ending{code: 3, stderr: "partially correct (3)\nFAIL no answer"}, api.CheckReport{},
			"exited with status 3 (fail): the input, the answer or the checker is wrong"},
		{"testlib partial that the program wrote, before wrong", testlib,
			ending{code: 1, stderr: "partially correct (1)\nwrong answer"},
			api.CheckReport{Verdict: api.WrongAnswer, Message: "partially correct (1)\nwrong answer"}, ""},
		{"testlib partial that the program wrote, quoted after wrong", testlib,
			ending{code: 1, stderr: "wrong answer found\npartially correct (1)"},
			api.CheckReport{Verdict: api.WrongAnswer, Message: "wrong answer found\npartially correct (1)"}, ""},
		{"testlib points that the program wrote, quoted after ok", testlib, ending{stderr: "ok you wrote\npoints 5"},
			api.CheckReport{Verdict: api.Accepted, Message: "ok you wrote\npoints 5"}, ""},
		{"testlib partial, nothing, after ok for debugging", testlib, ending{stderr: "ok so far\npartially correct (0)"},
			api.CheckReport{Verdict: api.WrongAnswer, Score: points(0), Message: "ok so far\npartially correct (0)"}, ""},
		{"testlib partial in a result file, after wrong for debugging", testlib,
			ending{code: 1, stderr: "wrong answer so far", report: "partially correct (1)"},
			api.CheckReport{Verdict: api.Partial, Score: points(1), Message: "partially correct (1)"}, ""},
		{"testlib 13 without a line", testlib, ending{code: 13, stderr: "13 of 20"}, api.CheckReport{},
			"exited with status 13, which testlib does not define"},
		{"testlib partial in a result file", testlib, ending{code: 13, stderr: "See file",
			report: "partially correct (13)"},
			api.CheckReport{Verdict: api.Partial, Score: points(13), Message: "partially correct (13)"}, ""},
		{"testlib partial of another code", testlib, ending{code: 9, stderr: "partially correct (70)"},
			api.CheckReport{}, "exited with status 9, which testlib does not define"},
		{"testlib with a result file", testlib, ending{code: 1, stderr: "See file to check exit message",
			report: "wrong answer 2"},
			api.CheckReport{Verdict: api.WrongAnswer, Message: "wrong answer 2"}, ""},
		{"testlib 42", testlib, ending{code: 42}, api.CheckReport{},
			"exited with status 42, which testlib does not define"},

		{"cms full", cms, ending{stdout: "1.0\n", stderr: "translate:success\n"},
			api.CheckReport{Verdict: api.Accepted, Score: points(1), Ratio: true, Message: "Output is correct"}, ""},
		{"cms nothing", cms, ending{stdout: "0", stderr: "too long"},
			api.CheckReport{Verdict: api.WrongAnswer, Score: points(0), Ratio: true, Message: "too long"}, ""},
		{"cms a part", cms, ending{stdout: "0.5\nmore", stderr: "half\nmore"},
			api.CheckReport{Verdict: api.Partial, Score: points(0.5), Ratio: true, Message: "half"}, ""},
		{"cms above full", cms, ending{stdout: "2"}, api.CheckReport{},
			"read the score in the first line of stdout: 2 is above 1"},
		{"cms not a number", cms, ending{stdout: "nan"}, api.CheckReport{},
			`read the score in the first line of stdout: "nan" is not a number >= 0`},
		{"cms without a score", cms, ending{}, api.CheckReport{},
			`read the score in the first line of stdout: "" is not a number >= 0`},
		{"cms 1", cms, ending{code: 1, stdout: "1"}, api.CheckReport{},
			"exited with status 1; the protocol requires 0 for every score"},

		{"sio full", sio, ending{stdout: "OK\n"}, api.CheckReport{Verdict: api.Accepted, Score: points(1), Ratio: true}, ""},
		{"sio a part", sio, ending{code: 1, stdout: " OK\r\nhalf \n50\nmore"},
			api.CheckReport{Verdict: api.Partial, Score: points(0.5), Ratio: true, Message: "half"}, ""},
		{"sio a fraction", sio, ending{stdout: "OK\n\n150/2"},
			api.CheckReport{Verdict: api.Partial, Score: points(0.75), Ratio: true}, ""},
		{"sio a part after a long message", sio, ending{stdout: "OK\n" + strings.Repeat("x", 5000) + "\n50"},
			api.CheckReport{Verdict: api.Partial, Score: points(0.5), Ratio: true, Message: strings.Repeat("x", most)}, ""},
		{"sio no points", sio, ending{stdout: "OK\n\n0"},
			api.CheckReport{Verdict: api.WrongAnswer, Score: points(0), Ratio: true}, ""},
		{"sio wrong with points", sio, ending{stdout: "WRONG\nline 2\n100"},
			api.CheckReport{Verdict: api.WrongAnswer, Message: "line 2"}, ""},
		{"sio nothing", sio, ending{stdout: " \n"}, api.CheckReport{},
			"wrote nothing to stdout; the protocol expects OK or another word in its first line"},
		{"sio an empty first line", sio, ending{stdout: "\nno\n"},
			api.CheckReport{Verdict: api.WrongAnswer, Message: "no"}, ""},
		{"sio above full", sio, ending{stdout: "OK\n\n101"}, api.CheckReport{},
			"read the percentage in the third line of stdout: 101 is not 0 to 100"},
		{"sio divides by nothing", sio, ending{stdout: "OK\n\n0/0"}, api.CheckReport{},
			"read the percentage in the third line of stdout: NaN is not 0 to 100"},
		{"sio not a number", sio, ending{stdout: "OK\n\nall"}, api.CheckReport{},
			`read the percentage in the third line of stdout: "all" is not a number >= 0`},
		{"bridged accepts", bridged, ending{stderr: "points 3"},
			api.CheckReport{Verdict: api.Accepted, Message: "points 3"}, ""},
		{"bridged rejects with a part", bridged, ending{code: 1, stderr: "partial 1/2"},
			api.CheckReport{Verdict: api.WrongAnswer, Message: "partial 1/2"}, ""},
		{"bridged with a part", bridged, ending{code: 7, stderr: "seen\npartial 3/4\n"},
			api.CheckReport{Verdict: api.Partial, Score: points(0.75), Ratio: true, Message: "seen\npartial 3/4\n"}, ""},
		{"bridged with all", bridged, ending{code: 7, stderr: "partial 4/4"},
			api.CheckReport{Verdict: api.Accepted, Score: points(1), Ratio: true, Message: "partial 4/4"}, ""},
		{"bridged with points", bridged, ending{code: 7, stderr: "points 30"},
			api.CheckReport{Verdict: api.Partial, Score: points(30), Message: "points 30"}, ""},
		{"bridged with more than all", bridged, ending{code: 7, stderr: "partial 5/4"}, api.CheckReport{},
			"1.25 is not 0 to 1"},
		{"bridged without points", bridged, ending{code: 7}, api.CheckReport{},
			"read the score of exit status 7 (points) in its message: 0 lines begin with points; want one, or one with " +
				`"points N"`},
		{"bridged fails", bridged, ending{code: 3}, api.CheckReport{},
			"exited with status 3 (fail): the input, the answer or the checker is wrong"},

		{"sio 3", sio, ending{code: 3, stdout: "OK"}, api.CheckReport{}, "exited with status 3; the protocol allows 0 to 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			if tt.ending.verdict, tt.ending.seen, err = lastVerdict(strings.NewReader(tt.ending.stderr)); err != nil {
				t.Fatal(err)
			}
			if verdictOf(firstLine(tt.ending.report)) != "" {
				tt.ending.verdict, tt.ending.seen = firstLine(tt.ending.report), nil
			}
			if tt.ending.lines, err = firstLines(strings.NewReader(tt.ending.stdout), sioLines); err != nil {
				t.Fatal(err)
			}
			got, err := reportOf(tt.protocol, tt.ending)
			fault := ""
			if err != nil {
				got, fault = api.CheckReport{}, err.Error()
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

// TestLastVerdict: the verdict line follows any amount of output, with lines of any length.
func TestLastVerdict(t *testing.T) {
	chatter := strings.Repeat("n = 5\n", 100_000)
	long := strings.Repeat("partially correct (0) ", 1000)
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"no verdict", "okay\npointless 3\n wrong answer\nx ok", ""},
		{"after a lot", chatter + "partially correct (0) none\n", "partially correct (0) none"},
		{"the last one", "ok\n" + chatter + "wrong answer 1\n" + chatter, "wrong answer 1"},
		{"after a long line", "x" + long + "\npoints 0.5\r\n", "points 0.5"},
		{"not in a long line", "ok\nx" + long, "ok"},
		{"a long line", long, strings.TrimRight(long[:most], " ")},
		{"no UTF-8", "\xff\nwrong answer \xff", "wrong answer \uFFFD"},
	} {
		if got, _, err := lastVerdict(strings.NewReader(tt.text)); got != tt.want || err != nil {
			t.Errorf("%s: %.60q, %v; want %.60q", tt.name, got, err, tt.want)
		}
	}
}

// TestFirstLines: lines of any length follow each other, and none is read beyond those that were asked for.
func TestFirstLines(t *testing.T) {
	long := strings.Repeat("é", most)
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"an empty line", "\n", []string{""}},
		{"no newline at the end", "OK\r\n\n50", []string{"OK", "", "50"}},
		{"more lines", "1\n2\n3\n4", []string{"1", "2", "3"}},
		{"long lines", long + "\n" + long + "\n50\n", []string{long[:most], long[:most], "50"}},
		{"a character at the cut", "a" + long + "\n50", []string{"a" + long[:most-2], "50"}},
	} {
		got, err := firstLines(strings.NewReader(tt.text), sioLines)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

// TestCheckerArgs: each protocol has its own order, or leaves it to the arguments.
func TestCheckerArgs(t *testing.T) {
	args := []string{"{report}", "-appes"}
	own := []string{"{answer}", "-o{output}", "{input}{report}"}
	for _, x := range []struct{ want, got []string }{
		{[]string{"/box/answer", "-o/box/output", "/box/input{report}"}, checkerArgs(bridged, own)},
		{[]string{"/box/answer", "-o/dev/null", "/box/input{report}"}, interactorArgs(bridged, own)},
	} {
		if diff := cmp.Diff(x.want, x.got); diff != "" {
			t.Errorf("bridged (-want +got):\n%s", diff)
		}
	}
	for protocol, want := range map[api.Protocol][]string{
		icpc:    {"/box/input", "/box/answer", "/box/feedback/", "{report}", "-appes"},
		testlib: {"/box/input", "/box/output", "/box/answer", "/box/feedback/report", "-appes"},
		cms:     {"/box/input", "/box/answer", "/box/output", "{report}", "-appes"},
	} {
		if diff := cmp.Diff(want, checkerArgs(protocol, args)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", protocol, diff)
		}
	}
}

// TestReason checks how the messages of a failed program are shortened to one line.
func TestReason(t *testing.T) {
	long := strings.Repeat("é", 301)
	for _, tt := range []struct {
		name   string
		ending ending
		want   string
	}{
		{"nothing", ending{}, ""},
		{"the first line", ending{stderr: "\nno table\nat line 3"}, "no table"},
		{"judgeerror.txt", ending{problem: "no table\nat line 3", stderr: "noise"}, "no table"},
		{"a traceback", ending{stderr: "Traceback (most recent call last):\n  File \"v.py\"\nValueError: no table"},
			"Traceback (most recent call last): ... ValueError: no table"},
		{"a cut traceback", ending{stderr: "Traceback (most recent call last):"}, "Traceback (most recent call last):"},
		{"a long line", ending{stderr: long}, long[:600] + "..."},
	} {
		if diff := cmp.Diff(tt.want, tt.ending.reason()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestLate: a program of the jury that does not end after the contestant's program has used up its time if it was busy,
// but not if it slept. If it waited for a CPU for as long as judged allows, noise is at fault.
func TestLate(t *testing.T) {
	const wall = 2 * time.Second
	little, most := 900*time.Millisecond, maxWait*wall
	for _, tt := range []struct {
		name      string
		result    sandbox.Result
		delay     time.Duration
		exhausted bool
		fault     api.Fault
	}{
		{"busy", sandbox.Result{CPUTime: 1100 * time.Millisecond}, 0, true, api.JuryFault},
		{"busy on a busy CPU", sandbox.Result{CPUTime: 1100 * time.Millisecond, Waited: &little}, 0, true, api.JuryFault},
		{"asleep", sandbox.Result{CPUTime: 5 * time.Millisecond}, 0, false, api.JuryFault},
		{"asleep on a busy CPU", sandbox.Result{CPUTime: 5 * time.Millisecond, Waited: &little}, 0, false, api.JuryFault},
		{"always waiting", sandbox.Result{CPUTime: 1100 * time.Millisecond, Waited: &most}, 0, false, api.NoiseFault},
		{"always waiting, partly before", sandbox.Result{CPUTime: 5 * time.Millisecond, Waited: &most}, little, false,
			api.JuryFault},
	} {
		got := late("interactor", icpc, tt.result, tt.delay, wall, ending{})
		if got.Verdict != api.InternalError || got.Exhausted != tt.exhausted || got.Fault != tt.fault {
			t.Errorf("%s: verdict %s, exhausted %t, fault %q", tt.name, got.Verdict, got.Exhausted, got.Fault)
		}
	}
}

// TestGrader checks the protocol of graders: a grader reads and writes the verdicts of problemtools, and one score.
func TestGrader(t *testing.T) {
	for output, want := range map[string]string{
		"AC 12.5\n":    "AC 12.5",
		"TLE 0":        "TLE 0",
		"RTE\t3 \n":    "RTE 3",
		"":             "want a verdict and a score",
		"AC":           "want a verdict and a score",
		"AC 1\nAC 2\n": "want a verdict and a score",
		"JE 0":         `the verdict "JE"`,
		"PC 3":         `the verdict "PC"`,
		"AC x":         "is not a number",
		"AC -1":        "is not a number",
		"AC NaN":       "is not a number",
		"AC 1e300":     "is above",
		"ac 1":         `the verdict "ac"`,
	} {
		g, err := readGraded(output)
		got := fmt.Sprintf("%s %g", g.Verdict, g.Score)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || (err == nil) != (got == want) {
			t.Errorf("%q: %s, want %s", output, got, want)
		}
	}
	for v, want := range map[api.Verdict]string{api.Accepted: "AC", api.Partial: "AC", api.WrongAnswer: "WA",
		api.PresentationError: "WA", api.TimeLimit: "TLE", api.WallTimeLimit: "TLE", api.IdlenessLimit: "TLE",
		api.MemoryLimit: "MLE", api.OutputLimit: "OLE", api.RuntimeError: "RTE", api.SecurityViolation: "RTE",
		api.NotExecutable: "RTE"} {
		if got := graderVerdict(v); got != want {
			t.Errorf("a grader reads %s for %s, want %s", got, v, want)
		}
	}
}
