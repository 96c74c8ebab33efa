package settings

import (
	"fmt"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
)

// Host holds the state that wanted values depend on: the machine and the CPUs reserved for runs.
type Host struct {
	FS           hostfs.FS
	Topology     machine.Topology
	Reserved     cpuset.Set // may contain offline CPUs if the caller named them
	Housekeeping cpuset.Set // the other online CPUs
	Width        int        // number of CPUs per slot
}

// UsageError means that the request is invalid for this machine; nothing was done.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

// Examine reads the topology and determines the reserved CPUs: asked, or else the isolated CPUs, or else the
// last one. A width of 0 means 1.
func Examine(h hostfs.FS, asked cpuset.Set, width int) (Host, error) {
	top, err := machine.ReadTopology(h)
	if err != nil {
		return Host{}, fmt.Errorf("examine host: %w", err)
	}
	host := Host{FS: h, Topology: top, Reserved: asked, Width: max(width, 1)}
	switch known := top.Present.Union(top.Online); {
	case width < 0:
		return Host{}, &UsageError{fmt.Sprintf("invalid width %d; give 1 or more CPUs", width)}
	case !asked.IsSubsetOf(known):
		return Host{}, &UsageError{fmt.Sprintf("CPU %s is not on this machine; it has %s", asked.Minus(known), known)}
	case len(asked) > 0:
	case len(top.Isolated) > 0:
		host.Reserved = top.Isolated
	default:
		host.Reserved = cpuset.New(top.Online[len(top.Online)-1])
	}
	host.Housekeeping = top.Online.Minus(host.Reserved)
	return host, nil
}

// NeedHousekeeping returns an error if the reservation leaves no CPU for other work.
func (h *Host) NeedHousekeeping() error {
	if len(h.Housekeeping) > 0 {
		return nil
	}
	return &UsageError{fmt.Sprintf("reserve CPU %s: no other CPU of %s is left for the kernel and all other programs; "+
		"reserve fewer",
		h.Reserved, h.Topology.Online)}
}

// Partition returns the type of cpuset partition for slots of this width. The kernel does not balance tasks
// between the CPUs of an "isolated" partition.
func (h *Host) Partition() string {
	if h.Width > 1 {
		return "root"
	}
	return "isolated"
}

// Names returns a replacer for the placeholders in texts.
func (h *Host) Names() *strings.Replacer {
	return strings.NewReplacer("{R}", h.Reserved.String(), "{RW}", Spaced(h.Reserved), "{H}", h.Housekeeping.String(),
		"{HM}", h.Housekeeping.Mask(), "{W}", strconv.Itoa(h.Width), "{P}", h.Partition())
}

// Spaced formats the CPUs of a set for a shell loop.
func Spaced(set cpuset.Set) string { return strings.Trim(fmt.Sprint([]int(set)), "[]") }

// Glob returns the files that match a constant, valid pattern.
func (h *Host) Glob(pattern string) []string {
	found, _ := h.FS.Glob(pattern)
	return found
}

// Optional returns the content of a file, or "" if it cannot be read.
func (h *Host) Optional(path string) string {
	text, err := h.FS.Read(path)
	if err != nil {
		return ""
	}
	return text
}

// number returns the number in a file, or 0 if it is missing or invalid.
func (h *Host) number(file string) int {
	n, err := strconv.Atoi(h.Optional(file))
	if err != nil {
		return 0
	}
	return n
}

// Others returns the CPUs of a set that are not reserved, or all housekeeping CPUs if none of them is online.
func (h *Host) Others(set cpuset.Set) cpuset.Set {
	if rest := set.Minus(h.Reserved); len(rest.Intersect(h.Topology.Online)) > 0 {
		return rest
	}
	return h.Housekeeping
}
