package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"judged/internal/base/config"
	"judged/internal/lab/bench"
)

// measureFlags are the flags of judged measure besides those of a job.
type measureFlags struct {
	job        jobFlags
	n          int
	placements string
	compare    string
	experiment string
	flips      bool
	scale      float64
	seed       uint64
	out        string
	cpuList    string
	root       string
	json       bool

	ids, compared []string // placements, set by choose
}

func (f *measureFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	// Arguments after PROGRAM belong to the program.
	fl.SetInterspersed(false)
	fl.IntVarP(&f.n, "repeats", "n", 0, "`NUMBER` of runs in every placement (default 20; an experiment has its own)")
	fl.StringVar(&f.placements, "placements", strings.Join(bench.IDs(), ","),
		"placements to measure, a `LIST` such as pinned,slot")
	fl.StringVar(&f.compare, "compare", "", "two placements `A,B` to compare: how much longer runs take in B, "+
		"with an interval and a test")
	fl.StringVar(&f.experiment, "experiment", "",
		"repeat the published experiment `NAME`: "+strings.Join(bench.ExperimentIDs(), ", "))
	fl.BoolVar(&f.flips, "flips", false, "count wrong time verdicts of programs near the limit")
	fl.Float64Var(&f.scale, "scale", 1, "size of an experiment's programs, a `FACTOR` below 1 for small machines")
	fl.Uint64Var(&f.seed, "seed", 0, "`NUMBER` that determines the order of the runs (default a random one, which the "+
		"result names)")
	fl.StringVar(&f.out, "out", "", "write the result as JSON, CSV and SVG into `DIR`")
	fl.StringVar(&f.job.input, "input", "", "input `FILE` of the program; without it the input is empty")
	f.job.addLimits(cmd)
	fl.Lookup("time-limit").Usage = "limit of the CPU `TIME` of a run, such as 10s (default the configured maximum)"
	fl.Lookup("wall-limit").Usage = "limit of the wall `TIME` of a run (default the configured maximum)"
	sizeFlag(cmd, &f.job.head, "head", "include the first bytes of every run's stdout in the JSON, a `SIZE` such as 4KiB")
	f.job.addFiles(cmd)
	cpuListFlag(cmd, &f.cpuList)
	rootFlag(cmd, &f.root)
	jsonFlag(cmd, &f.json)
}

// check refuses flags that contradict each other.
func (f *measureFlags) check(cmd *cobra.Command, args []string) error {
	given := cmd.Flags().Changed
	ours := given("experiment") || f.flips
	switch {
	case given("experiment") && f.flips:
		return usagef("--flips cannot be combined with --experiment")
	case given("experiment") && !slices.Contains(bench.ExperimentIDs(), f.experiment):
		return usagef("read --experiment %q: unknown; choose among %s", f.experiment,
			strings.Join(bench.ExperimentIDs(), ", "))
	case ours && len(args) > 0:
		return usagef("read PROGRAM %q: experiments bring their own; leave it out", args[0])
	case !ours && len(args) == 0:
		return usagef("no PROGRAM; see %s --help", cmd.CommandPath())
	case given("repeats") && (f.n < 1 || f.n > maxMeasured):
		return usagef("read --repeats %d: want 1 to %d", f.n, maxMeasured)
	case given("scale") && !ours:
		return usagef("read --scale: only experiments have a scale; leave it out")
	case !(f.scale > 0 && f.scale <= 10):
		return usagef("read --scale %g: want more than 0 and at most 10", f.scale)
	}
	if ours {
		for _, name := range []string{"placements", "compare", "input", "file", "time-limit", "wall-limit",
			"memory-limit",
			"output-limit", "stack-limit", "processes", "cpus", "head", "root"} {
			if given(name) {
				return usagef("read --%s: experiments do not take it; leave it out", name)
			}
		}
	}
	return nil
}

// maxMeasured bounds the runs that are held in memory, a few kilobytes each.
const maxMeasured = 10_000

func (f *measureFlags) overlay(c *config.Config, cmd *cobra.Command) error {
	if err := overlaySlots(c, cmd, f.cpuList); err != nil {
		return err
	}
	given := cmd.Flags().Changed
	if given("cpus") {
		c.Slots.Width = f.job.cpus
	}
	if given("root") {
		c.Sandbox.Root = f.root
	}
	if !given("time-limit") {
		f.job.timeLimit = c.Limits.Max.CPUTime
	}
	if !given("wall-limit") {
		f.job.wallLimit = c.Limits.Max.WallTime
	}
	if f.n == 0 {
		f.n = defaultMeasured
		if f.experiment != "" || f.flips {
			f.n = 0 // its own
		}
	}
	return nil
}

// defaultMeasured is the number of runs in the published experiments.
const defaultMeasured = 20

// choose parses --placements and --compare.
func (f *measureFlags) choose() (err error) {
	if f.ids, err = parsePlacements("placements", f.placements, bench.IDs()); err != nil || f.compare == "" {
		return err
	}
	if f.compared, err = parsePlacements("compare", f.compare, f.ids); err != nil {
		return err
	}
	switch {
	case len(f.compared) != 2:
		return usagef("read --compare %q: want two placements, A,B", f.compare)
	case f.n < bench.CompareFrom:
		return usagef("read --compare %q: %d runs are too few; give --repeats %d or more", f.compare, f.n,
			bench.CompareFrom)
	}
	return nil
}

// parsePlacements parses a list of placements, each of which must be known.
func parsePlacements(flag, list string, known []string) ([]string, error) {
	ids := strings.Split(list, ",")
	for i, id := range ids {
		if !slices.Contains(known, id) {
			return nil, usagef("read --%s %q: unknown %q; want one of %s", flag, list, id, strings.Join(known, ", "))
		}
		if slices.Contains(ids[:i], id) {
			return nil, usagef("read --%s %q: %q is named twice; list each once", flag, list, id)
		}
	}
	return ids, nil
}
