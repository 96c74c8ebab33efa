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
	"judged/internal/host/proc"
)

// swapsFile lists the active swap areas (mm/swapfile.c).
const swapsFile = "/proc/swaps"

func validArea(_ *view, e entry) bool {
	return e.Kind == area && e.Start == "" && path.IsAbs(e.Path) && e.Old != areaOff && len(e.Ours) > 0 &&
		e.wanted() == areaOff
}

// The values of an area. The kernel assigns priorities below 0, and does so again whenever an area is enabled: of those
// only being on is compared.
const (
	areaOff      = "off"
	areaOn       = "on"
	areaPriority = "on, priority "
)

func areaValue(a proc.Swap) string {
	if a.Priority < 0 {
		return areaOn
	}
	return areaPriority + strconv.Itoa(a.Priority)
}

// maxPriority is the largest that fits into the flags of swapon(2).
const maxPriority = 1<<15 - 1

// parseArea parses a value; a priority below 0 is the kernel's choice.
func parseArea(value string) (on bool, priority int, err error) {
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
	return false, -1, fmt.Errorf("invalid state %q of a swap area", value)
}

// readArea is "off" for whatever is not listed.
func readArea(h hostfs.FS, file string) (string, error) {
	areas, err := readAreas(h)
	if err != nil {
		return "", err
	}
	for _, a := range areas {
		if a.Path == file {
			return areaValue(a), nil
		}
	}
	return areaOff, nil
}

func readAreas(h hostfs.FS) ([]proc.Swap, error) {
	text, err := h.Read(swapsFile)
	if err != nil {
		return nil, err
	}
	return proc.Swaps(text)
}

// disableSwap wants every area off, or, if memory would not suffice, none.
func (v *view) disableSwap() proposal {
	areas, err := readAreas(v.FS)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return proposal{skip: swapsFile + " does not exist"}
	case err != nil:
		return proposal{stays: []Value{{Path: swapsFile, State: Stays, Reason: "cannot read it: " + cause(err)}}}
	case len(areas) == 0:
		return proposal{right: 1}
	}
	var p proposal
	short := v.shortOfMemory(areas)
	// Restoring goes backwards, so the first to be enabled is the last here.
	for _, a := range slices.Backward(ranked(areas)) {
		reason := short
		if !utf8.ValidString(a.Path) {
			reason = "its name is not UTF-8 and cannot be written to the journal"
		}
		if reason != "" {
			p.stays = append(p.stays, Value{Path: a.Path, State: Stays, From: areaValue(a), Reason: reason})
			continue
		}
		e := entry{Setting: "swap", Kind: area, Path: a.Path, Old: areaValue(a), Ours: []string{areaOff}}
		p.changes = append(p.changes, change{entry: e, from: e.Old, mayRefuse: true})
	}
	return p
}

// ranked are the areas in an order in which enabling them gives each its rank again: as they are listed, but those
// whose priority the kernel chose in the order of priorities, since it assigns a lower one each time.
func ranked(areas []proc.Swap) []proc.Swap {
	var chosen []proc.Swap
	for _, a := range areas {
		if a.Priority < 0 {
			chosen = append(chosen, a)
		}
	}
	slices.SortStableFunc(chosen, func(a, b proc.Swap) int { return b.Priority - a.Priority })
	all := slices.Clone(areas)
	for i, a := range all {
		if a.Priority < 0 {
			all[i], chosen = chosen[0], chosen[1:]
		}
	}
	return all
}

// spareShare of all memory has to remain free with everything swapped in: with less, the kernel would kill programs to
// make room, and this one first.
const spareShare = 10

// shortOfMemory says why what is swapped out does not fit into memory; "" if it does.
func (v *view) shortOfMemory(areas []proc.Swap) string {
	var used units.Bytes
	for _, a := range areas {
		used += a.Used
	}
	if used == 0 {
		return ""
	}
	text, err := v.FS.Read("/proc/meminfo")
	if err != nil {
		return fmt.Sprintf("%s are swapped out, and judged cannot read /proc/meminfo: %s", units.Round(used),
			cause(err))
	}
	available, total := proc.Meminfo(text, "MemAvailable"), proc.Meminfo(text, "MemTotal")
	if spare := total / spareShare; total == 0 || used > available-spare {
		return fmt.Sprintf("%s are swapped out, more than the available memory of %s (MemAvailable) less a reserve of "+
			"%s (a tenth of MemTotal); "+
			"stop the programs that need it", units.Round(used), units.Round(available), units.Round(spare))
	}
	return ""
}

// setArea enables or disables an area.
func (t *tuner) setArea(file, to string) error {
	on, priority, err := parseArea(to)
	switch {
	case err != nil:
		return err
	case on:
		return t.writer.SwapOn(file, priority)
	}
	return t.writer.SwapOff(file)
}
