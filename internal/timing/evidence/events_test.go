package evidence

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
)

// unitFiles adds the files of a performance monitoring unit.
func unitFiles(files map[string]string, name, kind string, more map[string]string) {
	files[eventSources+name+"/type"] = kind + "\n"
	for path, text := range more {
		files[eventSources+name+"/"+path] = text + "\n"
	}
}

var (
	softwareEvents = []event{
		{switches, linux.PerfEvent{Type: 1, Config: [3]uint64{3}}},
		{arrivals, linux.PerfEvent{Type: 1, Config: [3]uint64{4}}},
	}
	intelFormat = map[string]string{"format/event": "config:0-7", "format/umask": "config:8-15"}
)

func intelCore(cpus string) map[string]string {
	files := map[string]string{"events/instructions": "event=0xc0", "events/cpu-cycles": "event=0x3c",
		"events/ref-cycles": "event=0x00,umask=0x03", "events/cache-misses": "event=0x2e,umask=0x41"}
	for path, text := range intelFormat {
		files[path] = text
	}
	if cpus != "" {
		files["cpus"] = cpus
	}
	return files
}

func core(kind uint32) []event {
	user := func(c counter, config uint64) event {
		return event{c, linux.PerfEvent{Type: kind, Config: [3]uint64{config}, UserOnly: true}}
	}
	return []event{user(instructions, 0xc0), user(cycles, 0x3c), user(referenceCycles, 0x300),
		user(cacheMisses, 0x412e)}
}

func TestChooseEvents(t *testing.T) {
	bare := map[string]string{}
	unitFiles(bare, "software", "1", nil)
	unitFiles(bare, "msr", "9", map[string]string{"format/event": "config:0-63", "events/aperf": "event=0x01",
		"events/mperf": "event=0x02", "events/smi": "event=0x04", "events/tsc": "event=0x00"})
	unitFiles(bare, "cpu", "4", intelCore(""))
	unitFiles(bare, "uncore_imc", "12", map[string]string{"events/cas_count_read": "event=0x04,umask=0x03",
		"cpumask": "0"})

	virtual := map[string]string{}
	unitFiles(virtual, "software", "1", nil)
	unitFiles(virtual, "msr", "9", map[string]string{"format/event": "config:0-63", "events/tsc": "event=0x00"})
	unitFiles(virtual, "breakpoint", "5", nil)

	hybrid := map[string]string{}
	unitFiles(hybrid, "cpu_core", "4", intelCore("0-7"))
	unitFiles(hybrid, "cpu_atom", "10", intelCore("8-15"))

	arm := map[string]string{}
	unitFiles(arm, "armv8_pmuv3_0", "8", map[string]string{"cpus": "0-3", "format/event": "config:0-15",
		"events/inst_retired": "event=0x08", "events/cpu_cycles": "event=0x11",
		"events/ll_cache_miss_rd": "event=0x37"})

	amd := map[string]string{}
	unitFiles(amd, "cpu", "4", map[string]string{"format/event": "config:0-7,32-35", "format/umask": "config:8-15",
		"events/instructions": "event=0x1c0", "events/cpu-cycles": "event=0x76,strange=1"})

	for _, tt := range []struct {
		name  string
		files map[string]string
		cpus  cpuset.Set
		want  [][]event
	}{
		{"Intel", bare, cpuset.New(3), [][]event{append(softwareEvents[:2:2],
			event{aperf, linux.PerfEvent{Type: 9, Config: [3]uint64{1}}},
			event{mperf, linux.PerfEvent{Type: 9, Config: [3]uint64{2}}},
			event{smis, linux.PerfEvent{Type: 9, Config: [3]uint64{4}}}), core(4)}},
		{"a virtual machine without a unit", virtual, cpuset.New(1), [][]event{softwareEvents}},
		{"a fast core", hybrid, cpuset.New(7), [][]event{core(4)}},
		{"a slow core", hybrid, cpuset.New(8, 9), [][]event{core(10)}},
		{"cores of both kinds", hybrid, cpuset.New(7, 8), [][]event{}},
		{"arm64", arm, cpuset.New(1), [][]event{{
			{instructions, linux.PerfEvent{Type: 8, Config: [3]uint64{0x08}, UserOnly: true}},
			{cycles, linux.PerfEvent{Type: 8, Config: [3]uint64{0x11}, UserOnly: true}},
			{cacheMisses, linux.PerfEvent{Type: 8, Config: [3]uint64{0x37}, UserOnly: true}},
		}}},
		{"a term without a format, and one in two places", amd, cpuset.New(1), [][]event{{
			{instructions, linux.PerfEvent{Type: 4, Config: [3]uint64{0x1_0000_00c0}, UserOnly: true}},
		}}},
		{"nothing", nil, cpuset.New(1), [][]event{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := chooseEvents(hostfs.New(newHost(t, tt.files).root), tt.cpus)
			if diff := cmp.Diff(tt.want, got, unexported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	formats := map[string]string{"event": "config:0-7,32-35", "umask": "config:8-15", "edge": "config:18",
		"ldlat": "config1:0-15",
		"odd":   "config9:0-1", "turned": "config:7-0", "far": "config:64", "bare": "config"}
	format := func(term string) (string, error) {
		if f, ok := formats[term]; ok {
			return f, nil
		}
		return "", errors.New("no such format")
	}
	type result struct {
		config [3]uint64
		ok     bool
	}
	for _, tt := range []struct {
		spec string
		want result
	}{
		{"event=0xfff", result{[3]uint64{0xf_0000_00ff}, true}},
		{"event=0xc0,umask=0x01,edge", result{[3]uint64{0x401c0}, true}},
		{"event=16, ldlat=3", result{[3]uint64{16, 3}, true}},
		{"event=0x1fff", result{}},
		{"event=", result{}},
		{"event=?", result{}},
		{"odd=1", result{}},
		{"turned=1", result{}},
		{"far=1", result{}},
		{"bare=1", result{}},
		{"new=1", result{}},
		{"", result{}},
	} {
		config, ok := encode(tt.spec, format)
		if !ok {
			config = [3]uint64{}
		}
		if got := (result{config, ok}); got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.spec, got, tt.want)
		}
	}
}
