package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
)

var verdictNames = map[api.Verdict]string{
	api.Accepted: "Accepted", api.Partial: "Partial score", api.WrongAnswer: "Wrong answer",
	api.PresentationError: "Presentation error", api.OutputLimit: "Output limit exceeded",
	api.TimeLimit: "Time limit exceeded", api.WallTimeLimit: "Wall time limit exceeded",
	api.IdlenessLimit: "Idleness limit exceeded", api.MemoryLimit: "Memory limit exceeded",
	api.RuntimeError: "Run-time error", api.SecurityViolation: "Security violation",
	api.NotExecutable: "Not executable", api.CompileError: "Compile error", api.Skipped: "Not run",
	api.Cancelled: "Cancelled", api.InternalError: "Internal error",
}

// VerdictName returns the name of a verdict for people, or the verdict itself if it is from another version of judged.
func VerdictName(v api.Verdict) string { return cmp.Or(verdictNames[v], string(v)) }

// Sentence says in one sentence what a job's verdict is and what it rests on.
func Sentence(r api.Report) string {
	name := VerdictName(r.Verdict)
	x := decisive(r)
	switch {
	case r.State == api.Queued:
		return withReason("The job waits", r.Message)
	case r.State == api.Running:
		return fmt.Sprintf("The job is being judged; tests judged so far: %d.", len(r.Tests))
	case r.Verdict == api.InternalError:
		return withReason(name+", fault: "+string(r.Fault), r.Message)
	case x == nil:
		return withReason(name, r.Message)
	case !x.Verdict.Failed():
		return name + ": " + passedSentence(r, *x)
	case x.Verdict == api.TimeLimit && x.Timing != nil:
		return fmt.Sprintf("%s on test %s: %s.", name, x.Name, overSentence(x.Runs, *x.Timing))
	}
	return withReason(fmt.Sprintf("%s on test %s", name, x.Name), Note(*x))
}

func withReason(what, reason string) string {
	if reason = strings.TrimSuffix(strings.TrimSpace(reason), "."); reason != "" {
		what += ": " + reason
	}
	return what + "."
}

// passedSentence says how many tests did not fail, and how near the nearest is to its limit.
func passedSentence(r api.Report, near api.TestReport) string {
	passed := 0
	for _, t := range r.Tests {
		if t.Verdict == api.Accepted || t.Verdict == api.Partial {
			passed++
		}
	}
	text := fmt.Sprintf("%d of %d tests passed", passed, len(r.Tests))
	if near.Timing == nil || near.CPUTime == nil {
		return text + "."
	}
	return fmt.Sprintf("%s; test %s, the nearest to its limit, took %s of %s.", text, near.Name, Time(near.CPUTime),
		units.Duration(near.Timing.Limit))
}

// overSentence says how many runs were over the limit, by how much, and what disturbed them.
func overSentence(runs []api.Run, t api.Timing) string {
	var by []time.Duration
	disturbed := map[api.Cause]bool{}
	lengthened := 0
	for _, r := range runs {
		if r.CPUTime <= t.Limit {
			continue
		}
		by = append(by, r.CPUTime-t.Limit)
		if len(r.Disturbed) > 0 {
			lengthened++
		}
		for _, c := range r.Disturbed {
			disturbed[c] = true
		}
	}
	who, verb := word(len(by))+" of "+plural(len(runs), "run"), "were"
	if len(by) == 1 {
		verb = "was"
	}
	if len(runs) == 1 {
		who = "its run"
	}
	text := fmt.Sprintf("%s %s over %s", who, verb, units.Duration(t.Limit))
	if len(by) == 0 {
		return text
	}
	return fmt.Sprintf("%s, by %s; %s", text, amounts(by), disturbance(len(by), lengthened, disturbed))
}

// amounts lists up to three times, and the range of more.
func amounts(all []time.Duration) string {
	slices.Sort(all)
	if len(all) > 3 {
		return units.Duration(all[0]) + " to " + units.Duration(all[len(all)-1])
	}
	var texts []string
	for _, d := range all {
		texts = append(texts, units.Duration(d))
	}
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}

func disturbance(runs, disturbed int, causes map[api.Cause]bool) string {
	switch {
	case disturbed == 0 && runs == 1:
		return "it was not disturbed"
	case disturbed == 0 && runs == 2:
		return "neither was disturbed"
	case disturbed == 0:
		return "none was disturbed"
	}
	names := slices.DeleteFunc(api.Causes(), func(c api.Cause) bool { return !causes[c] })
	verb := "were"
	if disturbed == 1 {
		verb = "was"
	}
	who := word(disturbed) + " of them"
	if runs == 1 {
		who = "it"
	}
	return fmt.Sprintf("%s %s disturbed (%s)", who, verb, text.Join(names, ", "))
}

// word returns a small number in letters.
func word(n int) string {
	words := []string{"none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	if n < len(words) {
		return words[n]
	}
	return fmt.Sprint(n)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return word(n) + " " + noun + "s"
}
