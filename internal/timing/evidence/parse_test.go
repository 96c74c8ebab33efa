package evidence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
)

var unexported = cmp.AllowUnexported(Snapshot{}, tally{}, ticks{}, interrupts{}, row{}, softirqs{}, vm{}, traffic{},
	event{})

const schedstatText = `version 15
timestamp 4294936912
cpu0 0 0 0 0 0 0 1000 200 30
domain0 00000000,00000003 0 0 0 0
cpu1 0 0 0 0 0 0 5000 700 90
cpu10 0 0 0 0 0 0 70000 7 9
`

func TestParseSchedstat(t *testing.T) {
	for _, tt := range []struct {
		name string
		text string
		cpus cpuset.Set
		want tally
	}{
		{"one CPU", schedstatText, cpuset.New(1), tally{5000, 1}},
		{"two CPUs", schedstatText, cpuset.New(0, 10), tally{71000, 2}},
		{"a CPU that is offline", schedstatText, cpuset.New(1, 2), tally{5000, 1}},
		{"too few fields", "cpu1 0 0 0\n", cpuset.New(1), tally{}},
		{"empty", "", cpuset.New(1), tally{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parseSchedstat([]byte(tt.text), tt.cpus), unexported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseUsagePercpu(t *testing.T) {
	const text = "30346672016 45694082972 7 \n"
	for _, tt := range []struct {
		name      string
		positions []int
		want      tally
	}{
		{"one", []int{1}, tally{45694082972, 1}},
		{"two", []int{0, 2}, tally{30346672023, 2}},
		{"past the end", []int{2, 3}, tally{7, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parseUsagePercpu([]byte(text), tt.positions), unexported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseStat(t *testing.T) {
	const text = "cpu  1827 0 2148 186550 404 0 85 11 0 0\ncpu0 730 0 722 93962 87 3 7 2 0 0\n" +
		"cpu1 1097 0 1426 92588 317 4 77 9 0 0\ncpu2 1 2 3\nintr 241467 0 0\ncpu3 0 0 0 0 0 1 1 1 0 0\n"
	for _, tt := range []struct {
		name string
		cpus cpuset.Set
		want ticks
	}{
		{"one CPU", cpuset.New(1), ticks{tally{1097, 2}, tally{1426, 1}, tally{4, 1}, tally{77, 1}, tally{9, 1}}},
		{"two CPUs", cpuset.New(0, 1), ticks{tally{1827, 4}, tally{2148, 2}, tally{7, 2}, tally{84, 2}, tally{11, 2}}},
		{"an old kernel's short line", cpuset.New(2), ticks{user: tally{3, 2}, system: tally{3, 1}}},
		{"nothing behind the CPUs counts", cpuset.New(3), ticks{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parseStat([]byte(text), tt.cpus), unexported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// CPU 1 is offline: its column is missing, and that of CPU 2 is the second.
const interruptsText = `           CPU0       CPU2       CPU3
  0:         45          1          2  IR-IO-APIC    2-edge      timer
 36:          0      73779          5  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
NMI:          0          1          0   Non-maskable interrupts
LOC:      22145      26195         77   Local timer interrupts
ERR:          9
MIS:          0
`

const arm64Text = `           CPU0       CPU1
 11:       1000       2000     GICv3  27 Level     arch_timer
 12:          7          8     GICv3  27 Level     arch_timer
 23:          3          4     GICv3  79 Level     virtio0
IPI0:        50         60       Rescheduling interrupts
Err:          0
`

func parse(text string, cpus ...int) interrupts {
	got, _ := parseInterrupts([]byte(text), cpuset.New(cpus...), names{}, nil, nil)
	return got
}

func TestParseInterrupts(t *testing.T) {
	for _, tt := range []struct {
		name string
		got  interrupts
		want interrupts
	}{
		{"columns follow the header, not the number", parse(interruptsText, 2),
			interrupts{[]row{{"device", 73780}, {"NMI", 1}, {"LOC", 26195}}, 1}},
		{"two CPUs", parse(interruptsText, 2, 3),
			interrupts{[]row{{"device", 73787}, {"NMI", 1}, {"LOC", 26272}}, 2}},
		{"a CPU that is offline", parse(interruptsText, 1), interrupts{}},
		{"ERR is not CPU 0's", parse("CPU0 CPU1\nERR: 5\nLOC: 1 2\n", 0),
			interrupts{[]row{{"device", 0}, {"LOC", 1}}, 1}},
		{"the timer of arm64", parse(arm64Text, 1),
			interrupts{[]row{{"device", 4}, {"LOC", 2008}, {"IPI0", 60}}, 1}},
		{"no header", parse("LOC: 1 2\n", 0), interrupts{}},
		{"empty", parse("", 0), interrupts{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.got, unexported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// bigInterrupts returns the file of a machine with the given number of CPUs and devices. Device n has interrupted every
// CPU n times.
func bigInterrupts(cpus, devices int) string {
	var b strings.Builder
	line := func(label string, cell func(cpu int) string, rest string) {
		b.WriteString(label)
		for cpu := range cpus {
			b.WriteString(cell(cpu))
		}
		b.WriteString(rest + "\n")
	}
	line("     ", func(cpu int) string { return fmt.Sprintf("%-11s", fmt.Sprintf("CPU%d", cpu)) }, "")
	for d := range devices {
		line(fmt.Sprintf("%4d:", d), func(cpu int) string { return fmt.Sprintf("%11d", cpu) }, "  PCI-MSI  nvme0q1")
	}
	line(" LOC:", func(cpu int) string { return fmt.Sprintf("%11d", 4000000000+cpu) }, "   Local timer interrupts")
	return b.String()
}

func TestParseInterruptsOfABigMachine(t *testing.T) {
	got := parse(bigInterrupts(512, 3000), 511)
	want := interrupts{[]row{{"device", 511 * 3000}, {"LOC", 4000000511}}, 1}
	if diff := cmp.Diff(want, got, unexported); diff != "" {
		t.Error(diff)
	}
}

func TestParseSoftirqs(t *testing.T) {
	const text = "   CPU0 CPU1 CPU2\n  HI: 1 1 1\nNET_TX: 1 2 4\nNET_RX: 8 16 32\nBLOCK: 3 5 7\nRCU: 9 9 9\n"
	for _, tt := range []struct {
		name, text string
		cpus       cpuset.Set
		want       softirqs
	}{
		{"one CPU", text, cpuset.New(1), softirqs{tally{18, 2}, tally{5, 1}}},
		{"two CPUs", text, cpuset.New(0, 2), softirqs{tally{45, 4}, tally{10, 2}}},
		{"no such CPU", text, cpuset.New(7), softirqs{}},
		{"a row too short", "CPU0 CPU1\nBLOCK: 3\nNET_TX: 1 2\n", cpuset.New(1), softirqs{tally{2, 1}, tally{}}},
		{"empty", "", cpuset.New(1), softirqs{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := parseSoftirqs([]byte(tt.text), tt.cpus, nil)
			if diff := cmp.Diff(tt.want, got, unexported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseVM(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       vm
	}{
		{"all", "nr_free_pages 5\npswpin 1\npswpout 2\npswpin_other 9\ncompact_stall 4\n",
			vm{tally{3, 2}, tally{4, 1}}},
		{"a kernel without swap and compaction", "nr_free_pages 5\n", vm{}},
		{"no number", "pswpin x\n", vm{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parseVM([]byte(tt.text)), unexported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParsersDoNotAllocate(t *testing.T) {
	cpus := cpuset.New(1)
	known, columns, rows := names{}, make([]bool, 0, 8), make([]row, 0, 64)
	texts := [][]byte{[]byte(interruptsText), []byte(schedstatText), []byte("cpu1 1 2 3 4 5 6 7 8\n")}
	if n := testing.AllocsPerRun(100, func() {
		parseInterrupts(texts[0], cpuset.Set(cpus), known, columns, rows)
		parseSchedstat(texts[1], cpus)
		parseStat(texts[2], cpus)
		parseUsagePercpu(texts[2], cpus)
		parseSoftirqs(texts[0], cpus, columns)
		parseVM(texts[2])
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestInterruptsGrowth(t *testing.T) {
	rows := func(cpus int, r ...row) interrupts { return interrupts{r, cpus} }
	for _, tt := range []struct {
		name          string
		before, after interrupts
		want          map[string]int64
	}{
		{"only what grew", rows(1, row{"device", 4}, row{"LOC", 10}), rows(1, row{"device", 4}, row{"LOC", 17}),
			map[string]int64{"LOC": 7}},
		{"a counter wrapped", rows(1, row{"LOC", 4294967290}), rows(1, row{"LOC", 4}), map[string]int64{"LOC": 10}},
		{"a device went away", rows(1, row{"device", 500}), rows(1, row{"device", 20}), map[string]int64{}},
		{"a row that is new", rows(1, row{"LOC", 1}), rows(1, row{"HVS", 7}, row{"LOC", 2}),
			map[string]int64{"LOC": 1}},
		{"a CPU went away", rows(2, row{"LOC", 10}), rows(1, row{"LOC", 20}), nil},
		{"nothing known", interrupts{}, interrupts{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.before.growth(tt.after)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
