package tune

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// knob is one setting of the host: what it is for, and where it is turned.
type knob struct {
	id    string // of the check of doctor that it mends
	title string
	why   string
	risk  string
	rows  []row
	plugs bool // it takes CPUs away, so the host has to be looked at anew
	// inTurn: a value that stays keeps those that come after it.
	inTurn bool
	// find is for what no pattern names: threads and groups.
	find func(*view) proposal
	// valid says whether a place that find may have named could be one of this knob; it guards
	// against a journal that somebody else wrote.
	valid func(*view, entry) bool
}

// row is one kind of file of a knob.
type row struct {
	// pattern is a host path in which * stands for a part of a name and {cpu} for the number of each
	// reserved CPU.
	pattern string
	kind    kind
	// to is the wanted value, given the one that is there; returning that one changes nothing. A
	// reason says why no value can be wanted.
	to func(v *view, path, now string) (wanted, reason string)
	// mayRefuse: the kernel says no for some of these files on every host, and that is no failure.
	mayRefuse bool
	// wakes: reading it interrupts the CPU that it belongs to (it is a register there).
	wakes bool
}

// always wants one value, whatever is there.
func always(value string) func(*view, string, string) (string, string) {
	return func(*view, string, string) (string, string) { return value, "" }
}

// unless wants value where none of the words is there already.
func unless(value string, good ...string) func(*view, string, string) (string, string) {
	return func(_ *view, _, now string) (string, string) {
		if slices.Contains(good, now) {
			return now, ""
		}
		return value, ""
	}
}

// atLeast wants a number that is not smaller.
func atLeast(least int) func(*view, string, string) (string, string) {
	return func(_ *view, _, now string) (string, string) {
		n, err := strconv.Atoi(now)
		switch {
		case err != nil:
			return "", "it holds no number: " + strconv.Quote(now)
		case n >= least:
			return now, ""
		}
		return strconv.Itoa(least), ""
	}
}

// offReserved takes the reserved CPUs out of a list; where nothing is left, it is the other CPUs.
func offReserved(v *view, _, now string) (string, string) {
	set, err := list.set(now)
	if err != nil {
		return "", err.Error()
	}
	return v.without(set).String(), ""
}

// maskOffReserved is the same for a mask.
func maskOffReserved(v *view, _, now string) (string, string) {
	set, err := mask.set(now)
	if err != nil {
		return "", err.Error()
	}
	return v.without(set).Mask(), ""
}

// dropReserved is the same for a mask that may be empty, which means that nothing is steered.
func dropReserved(v *view, _, now string) (string, string) {
	set, err := mask.set(now)
	if err != nil {
		return "", err.Error()
	}
	return set.Minus(v.reserved).Mask(), ""
}

// choice wants a word where a file of the same folder lists it.
func choice(value, listFile string) func(*view, string, string) (string, string) {
	return func(v *view, file, now string) (string, string) {
		known, err := v.fs.Read(path.Join(path.Dir(file), listFile))
		if err == nil && !slices.Contains(strings.Fields(known), value) {
			return "", listFile + " does not offer " + value
		}
		return value, ""
	}
}

// number in a path.
var digits = regexp.MustCompile(`^[0-9]+$`)

// matches reports whether a path is one that the pattern names on some host.
func (r row) matches(p string) bool {
	before, after, perCPU := strings.Cut(r.pattern, "{cpu}")
	if !perCPU {
		ok, err := path.Match(r.pattern, p)
		return err == nil && ok
	}
	rest, ok := strings.CutPrefix(p, before)
	if !ok {
		return false
	}
	id := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	ok, err := path.Match(after, rest[len(id):])
	return digits.MatchString(id) && err == nil && ok
}

// Covers reports whether a check of doctor is mended, fully or in part, by a knob.
func Covers(check string) bool { return For(check) != "" }

// For is the setting that mends a check of doctor; "" if there is none.
func For(check string) string {
	if slices.ContainsFunc(knobs(), func(k knob) bool { return k.id == check }) {
		return check
	}
	return alsoMended()[check]
}

// alsoMended are checks that the knob of another one mends too.
func alsoMended() map[string]string {
	return map[string]string{
		"width-vs-isolation": "sched-isolated", // the partition of wide slots is balanced inside
		"rcu-offload":        "kthreads",       // rcuop/N and rcuog/N are kernel threads
		"rt-throttle":        "user-tasks",     // so are tasks of real-time policies moved
	}
}

// Uncovered says why a check of doctor that could be mended at run time is none of tune's.
func Uncovered(check string) (reason string, ok bool) {
	reason, ok = map[string]string{
		"cgroup-ready":        "judged hands down the controllers of its own groups when it starts; those of others are theirs",
		"slot-mems":           "the sandbox binds the memory of each run to the node of its slot",
		"resctrl":             "a share of the cache belongs to a slot and lives as long as it: no value to put back",
		"partition-valid":     "tune keeps no partition that the kernel calls invalid, and a broken one of somebody else is theirs",
		"rlimit-cpu":          "a limit of judged's own process, set by its unit; runs get none",
		"irqbalance":          "a service, not a value: stop it, or ban the CPUs in its settings, or it moves interrupts back",
		"daemon-placement":    "the daemon moves its own threads when it starts",
		"cpu-throttle-config": "quotas on groups above judged are what an administrator meant; change their unit",
		"hugetlb-reserved":    "pages that are given back may not be had again once memory is fragmented, and somebody reserved them",
		"env-fixed":           "the sandbox gives every run the same stack and environment",
		"ssbd-seccomp":        "a flag of the filter that the sandbox installs, not of the host",
		"tracing-off":         "somebody traces this host on purpose; ending it would lose what they have gathered",
		"perf-keys":           "the daemon keeps its own events open",
		"pstate-nohz":         "switching the frequency driver forgets every setting of the old one; freq-pinned does what is needed",
	}[check]
	return reason, ok
}

// IDs are the ids of all settings in the order in which they are applied.
func IDs() []string {
	var ids []string
	for _, k := range knobs() {
		ids = append(ids, k.id)
	}
	return ids
}
