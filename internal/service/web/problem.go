package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/jobs"
)

// problemPage shows the times of all submissions on the slowest tests of a problem.
type problemPage struct {
	Problem  api.Problem
	Jobs     int // judged, the latest
	More     bool
	Doubtful int // jobs with a test in the guard band of its limit, where chance can decide
	Tests    []slowTest
}

// slowTest is a test with the times of all submissions.
type slowTest struct {
	Name    string
	Limit   time.Duration
	Slowest time.Duration
	InBand  int
	Groups  []timesGroup
}

// timesGroup is the times of a language on a host.
type timesGroup struct {
	Language, Host string
	Jobs           int
	InBand         int
	Plot           *strip
}

const (
	problemJobs  = 500
	slowestTests = 5
)

func (h *handler) problems(w http.ResponseWriter, r *http.Request) error {
	list, next, err := h.desk.Jobs().Problems(r.Context(), r.URL.Query().Get("after"), 100)
	if err != nil {
		return err
	}
	return h.show(w, r, http.StatusOK, page{Title: "Problems", template: "problems.html", Body: struct {
		Problems []api.ProblemSummary
		Next     string
	}{list, next}})
}

func (h *handler) problem(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	problem, err := h.desk.Jobs().Problem(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	p := problemPage{Problem: problem.Shown()}
	list, next, err := h.desk.Jobs().List(ctx, jobs.Filter{Problem: problem.ID, State: api.Done, Originals: true,
		Limit: problemJobs})
	if err != nil {
		return err
	}
	p.More = next != ""
	if err := h.addTimes(ctx, &p, list); err != nil {
		return err
	}
	return h.show(w, r, http.StatusOK, page{Title: "Problem " + short(problem.ID), template: "problem.html", Body: p})
}

// timed is the time of a job on a test.
type timed struct {
	job, language, host string
	test                api.TestReport
}

func (h *handler) addTimes(ctx context.Context, p *problemPage, list []api.Report) error {
	byTest := map[string][]timed{}
	for _, r := range list {
		record, err := h.desk.Jobs().Get(ctx, r.ID)
		if errors.Is(err, api.ErrNotFound) {
			continue // it has been deleted meanwhile
		}
		if err != nil {
			return err
		}
		p.Jobs++
		doubtful := false
		for _, t := range record.Report.Tests {
			if t.Timing == nil || t.CPUTime == nil || t.Timing.Limit <= 0 {
				continue
			}
			byTest[t.Name] = append(byTest[t.Name], timed{r.ID, languageOf(record.Report), hostOf(record.Report), t})
			doubtful = doubtful || inBand(t)
		}
		if doubtful {
			p.Doubtful++
		}
	}
	for name, times := range byTest {
		p.Tests = append(p.Tests, slowTestOf(name, times))
	}
	slices.SortFunc(p.Tests, func(a, b slowTest) int {
		return cmp.Or(cmp.Compare(float64(b.Slowest)/float64(b.Limit), float64(a.Slowest)/float64(a.Limit)),
			strings.Compare(a.Name, b.Name))
	})
	p.Tests = p.Tests[:min(len(p.Tests), slowestTests)]
	return nil
}

func languageOf(r api.Report) string {
	if r.Compilation == nil {
		return "program"
	}
	return r.Compilation.Language
}

func hostOf(r api.Report) string {
	if r.Host == nil {
		return "unknown"
	}
	return cmp.Or(r.Host.Node, r.Host.Name)
}

// inBand reports whether a time is so near to its limit that chance can decide.
func inBand(t api.TestReport) bool {
	return (*t.CPUTime - t.Timing.Limit).Abs() <= t.Timing.Guard
}

// slowTestOf groups the times of a test by language and host.
func slowTestOf(name string, all []timed) slowTest {
	x := slowTest{Name: name, Limit: all[0].test.Timing.Limit}
	groups := map[[2]string][]timed{}
	for _, t := range all {
		x.Slowest = max(x.Slowest, *t.test.CPUTime)
		key := [2]string{t.language, t.host}
		groups[key] = append(groups[key], t)
	}
	for key, times := range groups {
		g := timesGroup{Language: key[0], Host: key[1], Jobs: len(times)}
		merged := api.TestReport{Timing: times[0].test.Timing}
		for _, t := range times {
			if inBand(t.test) {
				g.InBand++
			}
			merged.Runs = append(merged.Runs, api.Run{CPUTime: *t.test.CPUTime, Kept: true})
		}
		x.InBand += g.InBand
		g.Plot = plotTimes(merged)
		x.Groups = append(x.Groups, g)
	}
	slices.SortFunc(x.Groups, func(a, b timesGroup) int {
		return cmp.Or(strings.Compare(a.Language, b.Language), strings.Compare(a.Host, b.Host))
	})
	return x
}
