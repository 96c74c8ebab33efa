package bench

import (
	"fmt"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/timing/stats"
)

// Result is the result of a measurement. Times are in nanoseconds.
type Result struct {
	Title      string          `json:"title"`
	N          int             `json:"n"`
	Seed       uint64          `json:"seed"`
	Cases      []Outcome       `json:"cases,omitempty"`
	LeftOut    []LeftOut       `json:"left_out,omitempty"`
	Comparison *Comparison     `json:"comparison,omitempty"`
	Host       *api.HostReport `json:"host,omitempty"`
	Partial    bool            `json:"partial,omitempty"` // interrupted: runs are missing
}

// Source returns what is needed to reproduce a chart: the host, its isolation, and the seed.
func (r Result) Source() string {
	seed := fmt.Sprintf("seed %d", r.Seed)
	if r.Partial {
		seed += ", partial"
	}
	if r.Host == nil {
		return seed
	}
	return fmt.Sprintf("host %s, isolation %s, turbo %s, %s", r.Host.Name, r.Host.Isolation, r.Host.Turbo, seed)
}

// Outcome is one case with its runs in the order in which they were made.
type Outcome struct {
	Case      string    `json:"case"`
	Placement Placement `json:"placement"`
	Summary
	Runs []Run `json:"runs"`
}

// Run is one run of a case.
type Run struct {
	Round   int         `json:"round"` // from 1
	Turn    int         `json:"turn"`  // within the round, from 1
	Verdict api.Verdict `json:"verdict"`
	Stdout  *string     `json:"stdout_head,omitempty"` // if the task requests it
	api.Run
}

// Summary summarizes the runs of a case. A member is nil if no run reported it.
type Summary struct {
	Clean             int                 `json:"clean"` // undisturbed runs
	Verdicts          map[api.Verdict]int `json:"verdicts"`
	UserTime          *Times              `json:"user_time,omitempty"`
	SystemTime        *Times              `json:"system_time,omitempty"`
	CPUTime           *Times              `json:"cpu_time"`
	WallTime          *Times              `json:"wall_time"`
	RunDelay          *Times              `json:"run_delay,omitempty"`
	Steal             *Times              `json:"steal,omitempty"`
	VoluntarySwitches *Counts             `json:"voluntary_switches,omitempty"`
	ForcedSwitches    *Counts             `json:"involuntary_switches,omitempty"`
	Migrations        *Counts             `json:"migrations,omitempty"`
	MinorFaults       *Counts             `json:"minor_faults,omitempty"`
	MajorFaults       *Counts             `json:"major_faults,omitempty"`
}

// Times describes the distribution of repeated times.
type Times struct {
	N           int            `json:"n"`
	Min         time.Duration  `json:"min_ns"`
	Median      time.Duration  `json:"median_ns"`
	Max         time.Duration  `json:"max_ns"`
	Spread      time.Duration  `json:"spread_ns"`
	SpreadRatio *float64       `json:"spread_ratio,omitempty"`
	Sigma       *time.Duration `json:"sigma_ns,omitempty"` // estimate of the standard deviation
}

// Counts describes the distribution of repeated counts.
type Counts struct {
	N      int   `json:"n"`
	Median int64 `json:"median"` // lower one of two
	Max    int64 `json:"max"`
}

// Summarize summarizes the runs of one case.
func Summarize(runs []Run) Summary {
	s := Summary{Verdicts: map[api.Verdict]int{}}
	for _, r := range runs {
		s.Verdicts[r.Verdict]++
		if len(r.Disturbed) == 0 {
			s.Clean++
		}
	}
	s.UserTime = times(runs, func(r api.Run) *time.Duration { return r.UserTime })
	s.SystemTime = times(runs, func(r api.Run) *time.Duration { return r.SystemTime })
	s.CPUTime = times(runs, func(r api.Run) *time.Duration { return &r.CPUTime })
	s.WallTime = times(runs, func(r api.Run) *time.Duration { return &r.WallTime })
	s.RunDelay = times(runs, func(r api.Run) *time.Duration { return r.Evidence.RunDelay })
	s.Steal = times(runs, func(r api.Run) *time.Duration { return r.Evidence.StealTime })
	s.VoluntarySwitches = counts(runs, func(e api.Evidence) *int64 { return e.VoluntarySwitches })
	s.ForcedSwitches = counts(runs, func(e api.Evidence) *int64 { return e.InvoluntarySwitches })
	s.Migrations = counts(runs, func(e api.Evidence) *int64 { return e.Migrations })
	s.MinorFaults = counts(runs, func(e api.Evidence) *int64 { return e.MinorFaults })
	s.MajorFaults = counts(runs, func(e api.Evidence) *int64 { return e.MajorFaults })
	return s
}

func times(runs []Run, of func(api.Run) *time.Duration) *Times {
	var all []time.Duration
	for _, r := range runs {
		if d := of(r.Run); d != nil {
			all = append(all, *d)
		}
	}
	return Describe(all)
}

// Describe summarizes times. It returns nil if there are no times.
func Describe(all []time.Duration) *Times {
	if len(all) == 0 {
		return nil
	}
	d := stats.Describe(all)
	t := &Times{N: d.N, Min: d.Min, Median: d.Median, Max: d.Max, Spread: d.Spread}
	if ratio, ok := d.SpreadRatio(); ok {
		t.SpreadRatio = &ratio
	}
	// Estimated from the spread, so that it compares with published ranges; for many runs, whose range says little,
	// from the MAD.
	sigma, ok := d.SpreadSigma()
	if !ok {
		sigma, ok = d.Sigma()
	}
	if ok {
		t.Sigma = &sigma
	}
	return t
}

func counts(runs []Run, of func(api.Evidence) *int64) *Counts {
	var all []int64
	for _, r := range runs {
		if n := of(r.Evidence); n != nil {
			all = append(all, *n)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return &Counts{N: len(all), Median: stats.Quantile(all, 0.5), Max: all[len(all)-1]}
}

// AllAccepted reports whether every case has runs and all of them were accepted.
func (r Result) AllAccepted() bool {
	return len(r.Cases) > 0 && !slices.ContainsFunc(r.Cases,
		func(o Outcome) bool { return len(o.Runs) == 0 || o.Verdicts[api.Accepted] < len(o.Runs) })
}
