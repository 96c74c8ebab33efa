package evidence

import (
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
)

// counter identifies a perf counter of the slot's CPUs.
type counter int

const (
	switches     counter = iota // context switches
	arrivals                    // tasks that came from another CPU
	aperf                       // cycles at the actual frequency, while the core was not idle
	mperf                       // the same at the nominal frequency
	smis                        // system management interrupts
	instructions                // this and the rest in user mode only
	cycles
	referenceCycles
	cacheMisses
	counters // number of counters
)

// event is a counter with its encoding for the kernel.
type event struct {
	counter counter
	perf    linux.PerfEvent
}

// eventSources is the folder in which the kernel describes its performance monitoring units, each in a folder: type,
// format/TERM ("config:0-7,32-35") and events/NAME ("event=0xc0,umask=0x01").
const eventSources = "/sys/bus/event_source/devices/"

// chooseEvents selects the events to count on cpus, in groups that are read together. Events of the msr unit can be in
// a group with software events, because both can always be scheduled; those of a core cannot.
//
// Two software events are not used. task-clock on a CPU is the wall clock. page-faults would make every fault of a run
// slower, and the run's own count is known.
func chooseEvents(fs hostfs.FS, cpus cpuset.Set) [][]event {
	var always []event
	if t, err := fs.ReadInt(eventSources + "software/type"); err == nil {
		always = append(always, event{switches, linux.PerfEvent{Type: uint32(t),
			Config: [3]uint64{linux.PerfContextSwitches}}},
			event{arrivals, linux.PerfEvent{Type: uint32(t), Config: [3]uint64{linux.PerfCPUMigrations}}})
	}
	always = append(always, unit(fs, "msr", msrEvents)...)
	core := coreEvents(fs, cpus)
	return slices.DeleteFunc([][]event{always, core}, func(g []event) bool { return len(g) == 0 })
}

// named is a counter with the names that units use for it, in order of preference.
type named struct {
	counter counter
	names   []string
}

var msrEvents = []named{{aperf, []string{"aperf"}}, {mperf, []string{"mperf"}}, {smis, []string{"smi"}}}

// The names of a core's events on x86 and arm64.
var wantedOfCore = []named{
	{instructions, []string{"instructions", "inst_retired"}},
	{cycles, []string{"cpu-cycles", "cpu_cycles"}},
	{referenceCycles, []string{"ref-cycles"}},
	{cacheMisses, []string{"cache-misses", "ll_cache_miss_rd"}},
}

// coreEvents returns the events of the unit that counts the instructions of these CPUs. A machine with two kinds of
// cores has a unit for each, with a list of its CPUs.
func coreEvents(fs hostfs.FS, cpus cpuset.Set) []event {
	units, err := fs.ReadDir(eventSources)
	if err != nil {
		return nil
	}
	for _, u := range units {
		if list, err := fs.Read(eventSources + u + "/cpus"); err == nil {
			if served, err := cpuset.Parse(list); err != nil || len(cpus.Minus(served)) > 0 {
				continue
			}
		}
		events := unit(fs, u, wantedOfCore)
		if len(events) == 0 || events[0].counter != instructions {
			continue
		}
		for i := range events {
			events[i].perf.UserOnly = true
		}
		return events
	}
	return nil
}

// unit returns the wanted events that a unit has.
func unit(fs hostfs.FS, name string, wanted []named) []event {
	dir := eventSources + name
	kind, err := fs.ReadInt(dir + "/type")
	if err != nil {
		return nil
	}
	var found []event
	for _, w := range wanted {
		for _, n := range w.names {
			spec, err := fs.Read(dir + "/events/" + n)
			if err != nil {
				continue
			}
			if config, ok := encode(spec, func(term string) (string,
				error) {
				return fs.Read(dir + "/format/" + term)
			}); ok {
				found = append(found, event{w.counter, linux.PerfEvent{Type: uint32(kind), Config: config}})
				break
			}
		}
	}
	return found
}

// encode puts the terms of an event, "event=0x2e,umask=0x41,edge", into the bits that their formats name. A term
// without a value has the value 1. encode returns false for a term without a format.
func encode(spec string, format func(term string) (string, error)) (config [3]uint64, ok bool) {
	for term := range strings.SplitSeq(spec, ",") {
		name, text, given := strings.Cut(strings.TrimSpace(term), "=")
		value := uint64(1)
		if given {
			v, err := strconv.ParseUint(text, 0, 64)
			if err != nil {
				return config, false
			}
			value = v
		}
		places, err := format(name)
		if err != nil || !place(&config, places, value) {
			return config, false
		}
	}
	return config, true
}

// place spreads the bits of a value, lowest first, over the bit ranges of a format: "config1:0-15" or
// "config:0-7,32-35".
func place(config *[3]uint64, format string, value uint64) bool {
	word, ranges, ok := strings.Cut(format, ":")
	n := slices.Index([]string{"config", "config1", "config2"}, word)
	if !ok || n < 0 {
		return false
	}
	for r := range strings.SplitSeq(ranges, ",") {
		low, high, wide := strings.Cut(r, "-")
		if !wide {
			high = low
		}
		from, err := strconv.ParseUint(low, 10, 6)
		to, err2 := strconv.ParseUint(high, 10, 6)
		if err != nil || err2 != nil || to < from {
			return false
		}
		for bit := from; bit <= to; bit++ {
			config[n] |= value & 1 << bit
			value >>= 1
		}
	}
	return value == 0
}
