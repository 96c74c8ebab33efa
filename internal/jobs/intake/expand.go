package intake

import (
	"maps"

	"judged/internal/api"
)

// Expand adds tests, checker, interactor and limits of a problem to a job that names it. Limits of the job take
// precedence.
func Expand(j, problem api.Job) (api.Job, error) {
	var e Errors
	const instead = "given with a problem, which has its own; leave one of them out"
	e.check(len(j.Tests) == 0, "tests", instead)
	e.check(j.Checker == nil, "checker", instead)
	e.check(j.Interactor == nil, "interactor", instead)
	e.check(j.InputFile == "", "input_file", instead)
	e.check(j.OutputFile == "", "output_file", instead)
	e.check(j.Passes == 0, "passes", instead)
	limits := j.Limits.Or(problem.Limits)
	e.check(limits.CPUTimeMS != 0, "limits.cpu_time_ms", "none, and the problem has none; send it, or see judged limit")
	if err := e.err(); err != nil {
		return api.Job{}, err
	}
	j.Tests, j.Checker, j.Interactor, j.Limits = problem.Tests, problem.Checker, problem.Interactor, limits
	j.Passes, j.InputFile, j.OutputFile, j.Scheme = problem.Passes, problem.InputFile, problem.OutputFile, problem.Scheme
	return j, nil
}

// collapse is the inverse of Expand: it returns j without the members that sent takes from its problem.
func collapse(j, sent api.Job) api.Job {
	if sent.Problem != "" {
		j.Tests, j.Checker, j.Interactor, j.Scheme, j.Passes = nil, nil, nil, nil, 0
		j.InputFile, j.OutputFile, j.ProblemFactors = "", "", api.Factors{}
		j.Files = maps.Clone(j.Files)
		maps.DeleteFunc(j.Files, func(name string, _ api.File) bool { _, own := sent.Files[name]; return !own })
		if len(j.Files) == 0 {
			j.Files = sent.Files
		}
		j.Limits, j.ProblemVersion = sent.Limits, sent.ProblemVersion
	}
	return j
}
