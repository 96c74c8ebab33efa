package jury

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"judged/internal/api"
)

// What messages call a program of the jury that talks with the contestant's.
const (
	interactorName = "interactor"
	managerName    = "manager"
)

// What a program of the jury finds in its sandbox. The names are absolute, because programs change their folder.
const (
	inputPath    = "/box/input"
	answerPath   = "/box/answer"
	outputPath   = "/box/output"
	feedbackPath = "/box/feedback/"
)

// reportArgument is an argument that stands for a file in the feedback folder. A testlib program that gets one
// writes its message there instead of to stderr.
const reportArgument = "{report}"

const reportName = "report"

// checkerArgs is the command line of a checker without its name. The three protocols have three orders.
func checkerArgs(p api.Protocol, args []string) []string {
	switch p {
	case api.ICPC:
		return append([]string{inputPath, answerPath, feedbackPath}, args...)
	case api.CMS:
		return append([]string{inputPath, answerPath, outputPath}, args...)
	}
	return append([]string{inputPath, outputPath, answerPath}, withReport(args)...)
}

// interactorArgs is the command line of an interactor without its name.
func interactorArgs(p api.Protocol, args []string) []string {
	if p == api.ICPC {
		return append([]string{inputPath, answerPath, feedbackPath}, args...)
	}
	return append([]string{inputPath, feedbackPath + toutName, answerPath}, withReport(args)...)
}

// toutName is the file in which an interactor that uses testlib leaves what the checker looks at as the output.
const toutName = "tout"

func withReport(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if a == reportArgument {
			args[i] = feedbackPath + reportName
		}
	}
	return args
}

// ending is what a program of the jury that came to its end has left.
type ending struct {
	code           int
	stdout, stderr string
	judge, team    string // judgemessage.txt and teammessage.txt of icpc
	problem        string // judgeerror.txt of icpc: why it cannot judge
	report         string // the result file of testlib
	verdict        string // the last line of stderr, or the first of that file, with a verdict of testlib; or ""
	score          string // score.txt of icpc; "" if absent
	multiplier     string // score_multiplier.txt of icpc; "" if absent
}

// reportOf converts the ending of a checker to a report. An error is a fault of the checker.
func reportOf(p api.Protocol, e ending) (api.CheckReport, error) {
	switch p {
	case api.ICPC:
		return readICPC(e)
	case api.Testlib:
		return readTestlib(e)
	case api.CMS:
		return readCMS(e)
	}
	return api.CheckReport{}, fmt.Errorf("unknown protocol %q", p)
}

const (
	icpcAccept = 42
	icpcReject = 43
)

func readICPC(e ending) (api.CheckReport, error) {
	r := api.CheckReport{Message: e.judge, TeamMessage: e.team}
	if r.Message == "" {
		r.Message = e.stderr
	}
	switch e.code {
	case icpcReject:
		r.Verdict = api.WrongAnswer
	case icpcAccept:
		r.Verdict = api.Accepted
		err := readScores(&r, e)
		return r, err
	default:
		return r, fmt.Errorf("exited with status %d; the protocol knows %d (accept) and %d (reject)", e.code,
			icpcAccept, icpcReject)
	}
	return r, nil
}

// readScores reads score.txt, which has points, and score_multiplier.txt, which has a part of them.
func readScores(r *api.CheckReport, e ending) error {
	name, text := "score.txt", e.score
	if r.Ratio = e.multiplier != ""; r.Ratio {
		name, text = "score_multiplier.txt", e.multiplier
	}
	switch {
	case text == "":
		return nil
	case r.Ratio && e.score != "":
		return errors.New("wrote score.txt and score_multiplier.txt; the format allows one of them")
	}
	points, err := parseScore(text)
	if err == nil && r.Ratio && points > fullScore {
		err = fmt.Errorf("%v is above %v", points, fullScore)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	r.Verdict, r.Score = scored(points), &points
	return nil
}

// The exit codes of testlib.h, unless it was compiled for EJUDGE or CONTESTER.
const (
	testlibOK            = 0
	testlibWrong         = 1
	testlibPresentation  = 2
	testlibFail          = 3
	testlibDirt          = 4 // more output than the answer has; testlib reports it as 2 by default
	testlibPoints        = 7
	testlibUnexpectedEOF = 8  // only with ENABLE_UNEXPECTED_EOF, else 2
	testlibPartialBase   = 50 // added to partial scores with TESTSYS, else 0
)

// readTestlib reads the exit code, which says what kind of verdict it is. Without TESTSYS a partial score is the exit
// code itself, so the line with the verdict says which of both it is. Points without their line, and a line with points
// at the code for accepted, are a fault.
func readTestlib(e ending) (api.CheckReport, error) {
	r := api.CheckReport{Message: e.stderr}
	if e.report != "" {
		r.Message = e.report
	}
	n, partial := partialScore(e.verdict)
	if n >= 0 && (e.code == n%codes || e.code == (n+testlibPartialBase)%codes) {
		points := float64(n)
		if r.Verdict, r.Score = api.Partial, &points; n == 0 {
			r.Verdict = api.WrongAnswer
		}
		return r, nil
	}
	switch e.code {
	case testlibOK:
		if r.Verdict = api.Accepted; partial || strings.HasPrefix(e.verdict, pointsPrefix) {
			return r, fmt.Errorf("exited with status %d (ok) and wrote %q", testlibOK, e.verdict)
		}
	case testlibWrong:
		r.Verdict = api.WrongAnswer
	case testlibPresentation, testlibDirt, testlibUnexpectedEOF:
		r.Verdict = api.PresentationError
	case testlibPoints:
		points, err := testlibScore(e.verdict, r.Message)
		if err != nil {
			return r, fmt.Errorf("read the score of exit status %d (points) in its message: %w", testlibPoints, err)
		}
		r.Verdict, r.Score = scored(points), &points
	case testlibFail:
		return r, fmt.Errorf("exited with status %d (fail): the input, the answer or the checker is wrong", testlibFail)
	default:
		return r, fmt.Errorf("exited with status %d, which testlib does not have", e.code)
	}
	return r, nil
}

// codes is how many exit codes there are: larger ones wrap.
const codes = 256

const pointsPrefix = "points "

// testlibVerdicts are what a line of testlib with a verdict begins with.
var testlibVerdicts = []string{"ok", "wrong answer", "wrong output format", "unexpected eof", "FAIL", "points",
	"partially correct"}

// isVerdict reports whether a line is one of testlib with a verdict.
func isVerdict(line string) bool {
	return slices.ContainsFunc(testlibVerdicts, func(v string) bool {
		rest, ok := strings.CutPrefix(line, v)
		return ok && (rest == "" || rest[0] == ' ')
	})
}

// lastVerdict is the last line with a verdict of testlib, which ends with it: what comes before is the author's, and may
// quote what the contestant's program wrote. It is "" if no line has one. Lines are cut.
func lastVerdict(text io.Reader) (last string, err error) {
	lines := bufio.NewReaderSize(text, most)
	for {
		line, isLong, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return "", err
		}
		if found := message(line); isVerdict(found) {
			last = found
		}
		for isLong && err == nil {
			_, isLong, err = lines.ReadLine()
		}
	}
}

// testlibScore reads the points of a verdict, or of a message of a program without testlib, which begins with them or has
// them in a line.
func testlibScore(verdict, text string) (float64, error) {
	if points, ok := strings.CutPrefix(verdict, pointsPrefix); ok {
		points, _, _ = strings.Cut(points, " ")
		return parseScore(points)
	}
	var found []float64
	for line := range strings.Lines(text) {
		first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if points, err := parseScore(first); err == nil {
			found = append(found, points)
		}
	}
	if len(found) != 1 {
		return 0, fmt.Errorf("%d lines begin with points; want one, or one with %q", len(found), "points N")
	}
	return found[0], nil
}

// partialScore reads "partially correct (N) ...". n is negative where it is not a score.
func partialScore(verdict string) (n int, partial bool) {
	rest, partial := strings.CutPrefix(verdict, "partially correct (")
	number, _, ok := strings.Cut(rest, ")")
	n, err := strconv.Atoi(number)
	if !partial || !ok || err != nil || !api.ValidPoints(float64(n)) {
		n = -1
	}
	return n, partial
}

// cmsMessages are the texts that CMS translates for contestants.
var cmsMessages = map[string]string{
	"translate:success": "Output is correct",
	"translate:partial": "Output is partially correct",
	"translate:wrong":   "Output isn't correct",
}

func readCMS(e ending) (api.CheckReport, error) {
	message := firstLine(e.stderr)
	if text, ok := cmsMessages[message]; ok {
		message = text
	}
	r := api.CheckReport{Message: message}
	if e.code != 0 {
		return r, fmt.Errorf("exited with status %d; the protocol wants 0 whatever the score", e.code)
	}
	points, err := parseScore(firstLine(e.stdout))
	if err == nil && points > fullScore {
		err = fmt.Errorf("%v is above %v", points, fullScore)
	}
	if err != nil {
		return r, fmt.Errorf("read the score in the first line of stdout: %w", err)
	}
	r.Verdict, r.Score, r.Ratio = scored(points), &points, true
	return r, nil
}

// reason is what a program of the jury that failed says about that, in one line; "" if it says nothing. The first line of a
// traceback of Python says nothing without the last one.
func (e ending) reason() string {
	text := strings.TrimSpace(cmp.Or(e.problem, e.stderr))
	first, last := firstLine(text), firstLine(text[strings.LastIndexByte(text, '\n')+1:])
	if strings.HasPrefix(first, "Traceback ") && first != last {
		first += " ... " + last
	}
	if runes := []rune(first); len(runes) > longestReason {
		first = string(runes[:longestReason]) + "..."
	}
	return first
}

const longestReason = 300

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

// fullScore is the score of a test that is answered well, unless its problem says otherwise.
const fullScore = 1.0

// scored is the verdict of a test with a score.
func scored(points float64) api.Verdict {
	switch points {
	case fullScore:
		return api.Accepted
	case 0:
		return api.WrongAnswer
	}
	return api.Partial
}

func parseScore(text string) (float64, error) {
	text = strings.TrimSpace(text)
	points, err := strconv.ParseFloat(text, 64)
	if points > api.MaxPoints { // or infinite, which is an error, too
		return 0, fmt.Errorf("%q is above %g", text, api.MaxPoints)
	}
	if err != nil || !(points >= 0) {
		return 0, errors.New(strconv.Quote(text) + " is not a number of at least 0")
	}
	return points, nil
}
