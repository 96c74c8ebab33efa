package jury

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/sandbox"
)

// graderName is the role of a grader in messages.
const graderName = "grader"

// Grade runs the grader of a legacy problem package on the results of a group's members. It reads a line with the
// verdict and the score of each from stdin, gets the group's arguments, and writes such a line for the group. The error
// has the fault of the jury if the grader failed.
func (r *Runner) Grade(ctx context.Context, p Program, group *api.Group, members []api.Graded) (graded api.Graded,
	err error) {
	var lines strings.Builder
	for _, m := range members {
		fmt.Fprintf(&lines, "%s %s\n", graderVerdict(m.Verdict), strconv.FormatFloat(m.Score, 'f', -1, 64))
	}
	input, err := linux.Memfd("grader")
	if err != nil {
		return graded, err
	}
	defer input.Close()
	if _, err := io.WriteString(input, lines.String()); err != nil {
		return graded, fmt.Errorf("write input of grader: %w", err)
	}
	stdin, err := sandbox.NewSingleInput(input, r.slot)
	if err != nil {
		return graded, err
	}
	defer stdin.Close()
	p.Args = slices.Concat(p.Args, group.GraderArgs)
	fault, err := r.Make(ctx, Work{Program: p, Input: stdin}, func(open Open) error {
		output, err := open("")
		if err != nil {
			return err
		}
		line, err := io.ReadAll(io.LimitReader(output, most))
		if err != nil {
			return err
		}
		if graded, err = readGraded(string(line)); err != nil {
			return api.Blame(api.JuryFault, fmt.Errorf("%s: group %q: %w", p.Called(graderName), group.Name, err))
		}
		return nil
	})
	if err == nil && fault != nil {
		err = api.Blame(faultOf(fault), fmt.Errorf("%s: group %q: %w", p.Called(graderName), group.Name, fault))
	}
	return graded, err
}

// graderVerdict returns the verdict as graders know it. A partial score is a kind of acceptance for them.
func graderVerdict(v api.Verdict) string {
	switch t := v.JudgementType(); {
	case !v.Failed():
		return "AC"
	case v == api.MemoryLimit, v == api.OutputLimit:
		return string(v)
	case t == "TLE", t == "WA":
		return t
	}
	return "RTE"
}

// graderVerdicts maps the verdicts that a grader may write. JE is a failure of the grader.
func graderVerdicts() map[string]api.Verdict {
	return map[string]api.Verdict{"AC": api.Accepted, "WA": api.WrongAnswer, "TLE": api.TimeLimit,
		"RTE": api.RuntimeError, "MLE": api.MemoryLimit, "OLE": api.OutputLimit}
}

// readGraded reads the output of a grader: a verdict and a score.
func readGraded(output string) (api.Graded, error) {
	words := strings.Fields(output)
	if len(words) != 2 {
		return api.Graded{}, fmt.Errorf("wrote %.80q; want a verdict and a score, such as AC 40", output)
	}
	verdict, known := graderVerdicts()[words[0]]
	if !known {
		return api.Graded{}, fmt.Errorf("wrote the verdict %.40q; want AC, WA, TLE, RTE, MLE or OLE", words[0])
	}
	points, err := parseScore(words[1])
	if err != nil {
		return api.Graded{}, fmt.Errorf("read score: %w", err)
	}
	return api.Graded{Verdict: verdict, Score: points}, nil
}
