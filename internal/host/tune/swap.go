package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"judged/internal/base/units"
	"judged/internal/host/hostfs"
)

// swapsFile lists the active swap areas (mm/swapfile.c).
const swapsFile = "/proc/swaps"

func swapKnobs() []knob {
	return []knob{{
		id: "swap", title: "swap",
		why: "a page that comes back from a disk costs 0.1 to 10 ms where memory costs 0.1 us",
		risk: "what is swapped out is read in, which can take minutes; from then on memory that runs out ends programs, in a group at its " +
			"limit at once; areas come back without the option discard",
		// What fills last goes first: whatever stays on then fills before what comes back.
		find: (*view).switchOff, inTurn: true,
		valid: func(_ *view, e entry) bool {
			return e.Kind == area && e.Start == "" && path.IsAbs(e.Path) && e.Old != areaOff && len(e.Ours) > 0 && e.wanted() == areaOff
		},
	}}
}

// swapArea is one line of /proc/swaps.
type swapArea struct {
	path     string
	used     units.Bytes
	priority int
}

// The values of an area. Priorities below 0 are the kernel's, which gives them anew whenever an area is
// switched: of those only being on is compared.
const (
	areaOff      = "off"
	areaOn       = "on"
	areaPriority = "on, priority "
)

func (a swapArea) value() string {
	if a.priority < 0 {
		return areaOn
	}
	return areaPriority + strconv.Itoa(a.priority)
}

// maxPriority is what the flags of swapon(2) have room for.
const maxPriority = 1<<15 - 1

// areaOf reads a value; a priority below 0 is the kernel's choice.
func areaOf(value string) (on bool, priority int, err error) {
	switch value {
	case areaOff:
		return false, -1, nil
	case areaOn:
		return true, -1, nil
	}
	number, ok := strings.CutPrefix(value, areaPriority)
	if n, err := strconv.Atoi(number); ok && err == nil && n >= 0 && n <= maxPriority && digits.MatchString(number) {
		return true, n, nil
	}
	return false, -1, fmt.Errorf("%q is no state of a swap area", value)
}

// readArea is "off" for whatever is not listed.
func readArea(h hostfs.FS, file string) (string, error) {
	areas, err := readAreas(h)
	if err != nil {
		return "", err
	}
	for _, a := range areas {
		if a.path == file {
			return a.value(), nil
		}
	}
	return areaOff, nil
}

// readAreas reads path, type, size, use in KiB and priority of each area, below a heading.
func readAreas(h hostfs.FS) ([]swapArea, error) {
	text, err := h.Read(swapsFile)
	if err != nil {
		return nil, err
	}
	var areas []swapArea
	for i, line := range strings.Split(text, "\n") {
		if i == 0 {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 5 {
			return nil, fmt.Errorf("read %s: %d words in %q, want 5", swapsFile, len(f), line)
		}
		used, err1 := strconv.ParseInt(f[3], 10, 53)
		priority, err2 := strconv.Atoi(f[4])
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("read %s: %w", swapsFile, err)
		}
		areas = append(areas, swapArea{unescaped(f[0]), units.Bytes(used) << 10, priority})
	}
	return areas, nil
}

// unescaped takes back what seq_path of the kernel does to white space and backslashes: \040 is a space.
func unescaped(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' && i+3 < len(name) {
			if c, err := strconv.ParseUint(name[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// switchOff wants no swap: every area off, or, where memory would not do, none.
func (v *view) switchOff() proposal {
	areas, err := readAreas(v.fs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return proposal{skip: swapsFile + " does not exist"}
	case err != nil:
		return proposal{stays: []Value{{Path: swapsFile, State: Stays, Reason: "cannot be read: " + cause(err)}}}
	case len(areas) == 0:
		return proposal{right: 1}
	}
	var p proposal
	short := v.shortOfMemory(areas)
	// Restoring goes backwards, so the first to be switched on is the last here.
	for _, a := range slices.Backward(ranked(areas)) {
		reason := short
		if !utf8.ValidString(a.path) {
			reason = "its name is no UTF-8, and cannot be noted in the journal"
		}
		if reason != "" {
			p.stays = append(p.stays, Value{Path: a.path, State: Stays, From: a.value(), Reason: reason})
			continue
		}
		e := entry{Setting: "swap", Kind: area, Path: a.path, Old: a.value(), Ours: []string{areaOff}}
		p.changes = append(p.changes, change{entry: e, from: e.Old, row: row{mayRefuse: true}})
	}
	return p
}

// ranked are the areas in an order in which switching them on gives each its rank again: as they are
// listed, but those whose priority the kernel chose by that, since it gives a lower one each time.
func ranked(areas []swapArea) []swapArea {
	var chosen []swapArea
	for _, a := range areas {
		if a.priority < 0 {
			chosen = append(chosen, a)
		}
	}
	slices.SortStableFunc(chosen, func(a, b swapArea) int { return b.priority - a.priority })
	all := slices.Clone(areas)
	for i, a := range all {
		if a.priority < 0 {
			all[i], chosen = chosen[0], chosen[1:]
		}
	}
	return all
}

// spareShare of all memory has to be free when what was swapped out is back: with less, the kernel would
// end programs to make room, and this one first.
const spareShare = 10

// shortOfMemory says why what is swapped out does not fit into memory; "" if it does.
func (v *view) shortOfMemory(areas []swapArea) string {
	var used units.Bytes
	for _, a := range areas {
		used += a.used
	}
	if used == 0 {
		return ""
	}
	text, err := v.fs.Read("/proc/meminfo")
	if err != nil {
		return fmt.Sprintf("%s are swapped out, and /proc/meminfo cannot be read: %s", units.Round(used), cause(err))
	}
	available, total := meminfo(text, "MemAvailable"), meminfo(text, "MemTotal")
	if spare := total / spareShare; total == 0 || used > available-spare {
		return fmt.Sprintf("%s are swapped out, more than the %s of memory that are available (MemAvailable) less %s to spare (a tenth of MemTotal); "+
			"end what needs so much", units.Round(used), units.Round(available), units.Round(spare))
	}
	return ""
}

// meminfo finds a line such as "MemTotal: 1024 kB"; 0 if there is none.
func meminfo(text, key string) units.Bytes {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == key+":" {
			if kib, err := strconv.ParseInt(f[1], 10, 53); err == nil && kib > 0 {
				return units.Bytes(kib) << 10
			}
		}
	}
	return 0
}

// setArea switches an area.
func (t *tuner) setArea(file, to string) error {
	on, priority, err := areaOf(to)
	switch {
	case err != nil:
		return err
	case on:
		return t.hands.SwapOn(file, priority)
	}
	return t.hands.SwapOff(file)
}
