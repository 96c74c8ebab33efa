package doctor

import (
	"slices"
	"strconv"
	"strings"

	"judged/internal/host/tune"
)

// check is one row of the table: data, and the function that looks. In wanted and fix {R} stands
// for the reserved CPUs, {RW} for the same with spaces between them, {H} for the others, {HM} for their mask, {W} for the width of a slot and
// {P} for the type of partition that suits it.
type check struct {
	id       string
	title    string
	severity Severity
	wanted   string
	effect   string // with the source of its figure in parentheses
	confirm  string // one command that shows the value, before and after
	fix      Fix    // for any host
	// mend is the remedy for one host, where that depends on more than the CPUs: on the mode of its control groups, or
	// on what was found. Where fix has commands too, they are the ones that are explained without a host.
	mend func(facts) Fix
	look func(*view) Outcome
}

// Outcome is what a check saw.
type Outcome struct {
	Status Status
	Found  string
	Reason string
}

// allChecks is the table, by topic. A function and not a variable, so that nobody can change it.
func allChecks() []check {
	return slices.Concat(environmentChecks(), cpuChecks(), nodeChecks(), isolationChecks(), schedulerChecks(), tickChecks(), interruptChecks(),
		taskChecks(), powerChecks(), frequencyChecks(), heatChecks(), memoryChecks(), pagingChecks(), kernelChecks(), machineChecks(), planChecks(), poolChecks())
}

func (c check) examine(f facts) Check {
	v := &view{facts: f, read: []string{}}
	o := c.look(v)
	partition := "isolated"
	if f.width > 1 {
		partition = "root"
	}
	fix := c.fix
	if c.mend != nil {
		fix = c.mend(f)
	}
	names := strings.NewReplacer("{R}", f.reserved.String(), "{RW}", words(f.reserved), "{H}", f.housekeeping.String(), "{P}", partition,
		"{HM}", f.housekeeping.Mask(), "{W}", strconv.Itoa(f.width))
	return Check{ID: c.id, Title: c.title, Severity: c.severity, Status: o.Status, Found: o.Found, Wanted: names.Replace(c.wanted),
		Reason: o.Reason, Read: v.read, Effect: c.effect, Fix: fix.render(c.id, names)}
}

func (f Fix) render(id string, names *strings.Replacer) Fix {
	runtime := []string{}
	for _, line := range f.Runtime {
		runtime = append(runtime, names.Replace(line))
	}
	return Fix{Runtime: runtime, Boot: names.Replace(f.Boot), Tune: tune.Covers(id)}
}

func pass(found string) Outcome            { return Outcome{Pass, found, ""} }
func warn(found, reason string) Outcome    { return Outcome{Warn, found, reason} }
func fail(found, reason string) Outcome    { return Outcome{Fail, found, reason} }
func skip(reason string) Outcome           { return Outcome{Skip, "", reason} }
func unknown(found, reason string) Outcome { return Outcome{Unknown, found, reason} }

// counted writes a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// listed joins at most a dozen items, so that a host with a thousand of them keeps a readable report.
func listed(items []string) string {
	const most = 12
	if len(items) <= most {
		return strings.Join(items, ", ")
	}
	return strings.Join(items[:most], ", ") + " and " + strconv.Itoa(len(items)-most) + " more"
}
