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

func validArea(_ *view, e entry) bool {
	return e.Kind == area && e.Start == "" && path.IsAbs(e.Path) && e.Old != areaOff && len(e.Ours) > 0 &&
		e.wanted() == areaOff
}

// The values of a swap area. The kernel assigns negative priorities, and assigns a new one when an area is
// enabled; for these, only the state is compared.
const (
	areaOff      = "off"
	areaOn       = "on"
	areaPriority = "on, priority "
)

func areaValue(a hostfs.Swap) string {
	if a.Priority < 0 {
		return areaOn
	}
	return areaPriority + strconv.Itoa(a.Priority)
}

// maxPriority is the largest priority that fits in the flags of swapon(2).
const maxPriority = 1<<15 - 1

// parseArea parses a value. A negative priority means that the kernel chooses it.
func parseArea(value string) (on bool, priority int, err error) {
	switch value {
	case areaOff:
		return false, -1, nil
	case areaOn:
		return true, -1, nil
	}
	number, ok := strings.CutPrefix(value, areaPriority)
	if n, err := strconv.Atoi(number); ok && err == nil && n >= 0 && n <= maxPriority && digits().MatchString(number) {
		return true, n, nil
	}
	return false, -1, fmt.Errorf("invalid state %q of a swap area", value)
}

// readArea returns "off" for a file that is not listed.
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

func readAreas(h hostfs.FS) ([]hostfs.Swap, error) {
	text, err := h.Read(swapsFile)
	if err != nil {
		return nil, err
	}
	return hostfs.Swaps(text)
}

// disableSwap disables all swap areas, or none if memory would not suffice.
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
	// The reverse order, because restoring starts with the last one.
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

// ranked returns the areas in an order in which enabling them restores their ranks. Areas with kernel-assigned
// priorities are sorted by priority, because the kernel assigns a lower priority to each further area. The
// others stay in the order listed.
func ranked(areas []hostfs.Swap) []hostfs.Swap {
	var chosen []hostfs.Swap
	for _, a := range areas {
		if a.Priority < 0 {
			chosen = append(chosen, a)
		}
	}
	slices.SortStableFunc(chosen, func(a, b hostfs.Swap) int { return b.Priority - a.Priority })
	all := slices.Clone(areas)
	for i, a := range all {
		if a.Priority < 0 {
			all[i], chosen = chosen[0], chosen[1:]
		}
	}
	return all
}

// spareShare is the divisor of total memory that must remain free after all areas are read back. With less, the
// kernel would kill processes, this one first.
const spareShare = 10

// shortOfMemory returns why the swapped-out data does not fit in memory; "" if it does.
func (v *view) shortOfMemory(areas []hostfs.Swap) string {
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
	available, total := hostfs.Meminfo(text, "MemAvailable"), hostfs.Meminfo(text, "MemTotal")
	if spare := total / spareShare; total == 0 || used > available-spare {
		return fmt.Sprintf("%s are swapped out, more than the available memory of %s (MemAvailable) less a reserve of "+
			"%s (a tenth of MemTotal); "+
			"stop the programs that need it", units.Round(used), units.Round(available), units.Round(spare))
	}
	return ""
}

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
