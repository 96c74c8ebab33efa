package jury

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"judged/internal/api"
)

// Names in messages for programs of the jury that communicate with the contestant's program.
const (
	interactorName = "interactor"
	managerName    = "manager"
)

// Paths in the sandbox of a program of the jury. They are absolute, because programs may change their working
// directory.
const (
	inputPath    = "/box/input"
	answerPath   = "/box/answer"
	outputPath   = "/box/output"
	feedbackPath = "/box/feedback/"
)

// reportArgument is an argument that names a file in the feedback folder. A testlib program with that argument writes
// its message to the file instead of stderr.
const reportArgument = "{report}"

const reportName = "report"

// checkerArgs returns the arguments of a checker. Each protocol has its own order.
func checkerArgs(p api.Protocol, args []string) []string {
	switch p {
	case api.ICPC:
		return append([]string{inputPath, answerPath, feedbackPath}, args...)
	case api.CMS:
		return append([]string{inputPath, answerPath, outputPath}, args...)
	case api.Bridged:
		return bridgedArgs(args, outputPath)
	}
	return append([]string{inputPath, outputPath, answerPath}, withReport(args)...)
}

// interactorArgs returns the arguments of an interactor.
func interactorArgs(p api.Protocol, args []string) []string {
	switch p {
	case api.ICPC:
		return append([]string{inputPath, answerPath, feedbackPath}, args...)
	case api.Bridged:
		return bridgedArgs(args, os.DevNull)
	}
	return append([]string{inputPath, feedbackPath + toutName, answerPath}, withReport(args)...)
}

// bridgedArgs are the arguments of a program of DMOJ, which names all of them.
func bridgedArgs(args []string, output string) (all []string) {
	paths := strings.NewReplacer("{input}", inputPath, "{output}", output, "{answer}", answerPath)
	for _, a := range args {
		all = append(all, paths.Replace(a))
	}
	return all
}

// toutName is the output file of an interactor that uses testlib. The checker checks it.
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

// ending is the output of a program of the jury that has ended.
type ending struct {
	code           int
	stdout, stderr string
	lines          []string // first lines of stdout; long ones are truncated
	judge, team    string   // judgemessage.txt and teammessage.txt of icpc
	problem        string   // judgeerror.txt of icpc: why the program cannot judge
	report         string   // result file of testlib
	verdict        string   // last verdict line on stderr, or the first line of report; "" if neither is one
	seen           []string // prefixes of all verdict lines on stderr
	score          string   // score.txt of icpc; "" if absent
	multiplier     string   // score_multiplier.txt of icpc; "" if absent
}

// reportOf converts the ending of a checker to a report. An error means that the checker is at fault.
func reportOf(p api.Protocol, e ending) (api.CheckReport, error) {
	switch p {
	case api.ICPC:
		return readICPC(e)
	case api.Testlib:
		return readTestlib(e)
	case api.CMS:
		return readCMS(e)
	case api.SIO:
		return readSIO(e)
	case api.Bridged:
		return readBridged(e)
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
		return r, fmt.Errorf("exited with status %d; the protocol defines %d (accept) and %d (reject)", e.code,
			icpcAccept, icpcReject)
	}
	return r, nil
}

// readScores reads score.txt, which contains points, and score_multiplier.txt, which contains a fraction of the
// points.
func readScores(r *api.CheckReport, e ending) error {
	name, text := "score.txt", e.score
	if r.Ratio = e.multiplier != ""; r.Ratio {
		name, text = "score_multiplier.txt", e.multiplier
	}
	switch {
	case text == "":
		return nil
	case r.Ratio && e.score != "":
		return errors.New("wrote score.txt and score_multiplier.txt; the format allows only one of them")
	}
	points, err := parseScore(text)
	if err == nil && r.Ratio && points > fullScore {
		err = fmt.Errorf("%v is above %v", points, fullScore)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	r.Verdict, r.Score, r.Accepts = scored(points), &points, true
	return nil
}

// The exit codes of testlib.h, unless it was compiled for EJUDGE or CONTESTER.
const (
	testlibOK            = 0
	testlibWrong         = 1
	testlibPresentation  = 2
	testlibFail          = 3
	testlibDirt          = 4 // extra output; testlib reports 2 by default
	testlibPoints        = 7
	testlibUnexpectedEOF = 8  // only with ENABLE_UNEXPECTED_EOF, otherwise 2
	testlibPartialBase   = 50 // added to partial scores with TESTSYS, otherwise 0
)

// readTestlib interprets the exit code. Without TESTSYS, a partial score is the exit code itself, so the verdict line
// is needed to tell them apart. An exit code for points without a verdict line is a fault, and so is a verdict line
// with points and the exit code for accepted.
func readTestlib(e ending) (api.CheckReport, error) {
	r := api.CheckReport{Message: e.stderr}
	if e.report != "" {
		r.Message = e.report
	}
	n, partial := partialScore(e.verdict)
	// A message of several lines may quote the program, such as "wrong answer", and then "partially correct (1)".
	isQuoted := e.code == testlibWrong && slices.Contains(e.seen, wrongPrefix)
	if n >= 0 && !isQuoted && (e.code == n%codes || e.code == (n+testlibPartialBase)%codes) {
		points := float64(n)
		if r.Verdict, r.Score = api.Partial, &points; n == 0 {
			r.Verdict = api.WrongAnswer
		}
		return r, nil
	}
	switch e.code {
	case testlibOK:
		r.Verdict = api.Accepted
		if (partial || strings.HasPrefix(e.verdict, pointsPrefix)) && !slices.Contains(e.seen, okPrefix) {
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
		return r, fmt.Errorf("exited with status %d, which testlib does not define", e.code)
	}
	return r, nil
}

// codes is the number of exit codes. Larger values wrap around.
const codes = 256

const pointsPrefix = "points "

// The prefixes of the verdict lines for accepted and for a wrong answer.
const (
	okPrefix    = "ok"
	wrongPrefix = "wrong answer"
)

// testlibVerdicts are the prefixes of testlib's verdict lines.
var testlibVerdicts = []string{okPrefix, wrongPrefix, "wrong output format", "unexpected eof", "FAIL", "points",
	"partially correct"}

// verdictOf returns the prefix of a verdict line of testlib, or "".
func verdictOf(line string) string {
	for _, v := range testlibVerdicts {
		if rest, ok := strings.CutPrefix(line, v); ok && (rest == "" || rest[0] == ' ') {
			return v
		}
	}
	return ""
}

// lastVerdict returns the last verdict line of testlib, or "", and the prefixes of all. Output of the author may precede
// the line of testlib, which may have several lines itself, and both may quote the contestant's program. So of several
// lines with points it returns the one with the fewest. Long lines are truncated.
func lastVerdict(text io.Reader) (last string, seen []string, err error) {
	lines := bufio.NewReaderSize(text, most)
	fewest, least := "", math.Inf(1)
	for {
		line, isLong, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			if _, ok := pointsOf(last); ok {
				last = fewest
			}
			return last, seen, nil
		}
		if err != nil {
			return "", nil, err
		}
		found := message(line)
		if v := verdictOf(found); v != "" {
			last = found
			if n, ok := pointsOf(found); ok && n < least {
				fewest, least = found, n
			}
			if !slices.Contains(seen, v) {
				seen = append(seen, v)
			}
		}
		for isLong && err == nil {
			_, isLong, err = lines.ReadLine()
		}
	}
}

// pointsOf returns the number of a verdict line with points.
func pointsOf(line string) (float64, bool) {
	rest, hasPrefix := strings.CutPrefix(line, pointsPrefix)
	number, _, _ := strings.Cut(rest, " ")
	n, err := parseScore(number)
	return n, hasPrefix && err == nil
}

// sioLines is the number of lines that a checker of SIO2 writes.
const sioLines = 3

// firstLines returns the first n lines of a text. Long lines are truncated.
func firstLines(text io.Reader, n int) (all []string, err error) {
	lines := bufio.NewReaderSize(text, most)
	for len(all) < n {
		line, isLong, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, message(line))
		for isLong && err == nil {
			_, isLong, err = lines.ReadLine()
		}
	}
	return all, nil
}

// testlibScore reads the points of a verdict line. For a program without testlib, it reads them at the start of the
// message or of a line.
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

// partialScore reads "partially correct (N) ...". n is negative if N is not a score.
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
		return r, fmt.Errorf("exited with status %d; the protocol requires 0 for every score", e.code)
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

// readBridged reads the exit status as that of testlib, whose message may have a part of the points, "partial 3/4".
func readBridged(e ending) (api.CheckReport, error) {
	for line := range strings.Lines(e.stderr) {
		part, ok := strings.CutPrefix(strings.TrimSpace(line), "partial ")
		if !ok || e.code != testlibPoints {
			continue
		}
		points, err := parsePart(part, fullScore)
		return api.CheckReport{Message: e.stderr, Verdict: scored(points), Score: &points, Ratio: true}, err
	}
	if e.code != testlibPoints { // a line that looks like one of testlib means nothing
		e.verdict, e.seen = "", nil
	}
	return readTestlib(e)
}

// parsePart parses a part of the points: a number or a fraction of two, of which most is all points.
func parsePart(text string, most float64) (float64, error) {
	number, divisor, isFraction := strings.Cut(text, "/")
	points, err := parseScore(number)
	if err == nil && isFraction {
		by, err2 := parseScore(divisor)
		points, err = points/by, err2
	}
	if err == nil && !(points <= most) { // also not a number
		err = fmt.Errorf("%v is not 0 to %v", points, most)
	}
	return points / most, err
}

// readSIO reads the lines of a checker of SIO2: OK or anything else, a message, and the part of the points in percent, which
// may be missing.
func readSIO(e ending) (api.CheckReport, error) {
	lines := append(slices.Clip(e.lines), "", "", "")
	r := api.CheckReport{Verdict: api.WrongAnswer, Message: strings.TrimSpace(lines[1])}
	switch {
	case e.code > sioFailure:
		return r, fmt.Errorf("exited with status %d; the protocol allows 0 to %d", e.code, sioFailure)
	case strings.TrimSpace(e.stdout) == "":
		return r, errors.New("wrote nothing to stdout; the protocol expects OK or another word in its first line")
	}
	if strings.TrimSpace(lines[0]) != "OK" {
		return r, nil
	}
	points, err := parsePart(cmp.Or(strings.TrimSpace(lines[2]), "100"), 100)
	if err != nil {
		return r, fmt.Errorf("read the percentage in the third line of stdout: %w", err)
	}
	r.Verdict, r.Score, r.Ratio = scored(points), &points, true
	return r, nil
}

// sioFailure is the largest exit status of a checker of SIO2 that has not failed.
const sioFailure = 2

// reason returns the message of a program of the jury that failed as one line, or "". For a Python traceback it
// includes the last line, which has the error.
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

// fullScore is the score of a correct test, unless the problem sets another.
const fullScore = 1.0

// scored returns the report of a test with a score.
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
	if points > api.MaxPoints { // including infinity
		return 0, fmt.Errorf("%q is above %g", text, api.MaxPoints)
	}
	if err != nil || !(points >= 0) {
		return 0, errors.New(strconv.Quote(text) + " is not a number >= 0")
	}
	return points, nil
}
