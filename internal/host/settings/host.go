package settings

import (
	"fmt"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/topology"
)

// Host is what wanted values depend on: the machine and which of its CPUs are reserved for runs.
type Host struct {
	FS           hostfs.FS
	Topology     topology.Topology
	Reserved     cpuset.Set // may hold offline CPUs where the caller named them
	Housekeeping cpuset.Set // the other online ones
	Width        int        // CPUs of one slot
}

// UsageError says that a question makes no sense on this machine; nothing was done.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

// Examine reads the topology and decides which CPUs are reserved: those that are asked for, else the isolated ones,
// else the last one. A width of 0 is 1.
func Examine(h hostfs.FS, asked cpuset.Set, width int) (Host, error) {
	top, err := topology.Read(h)
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

// NeedHousekeeping refuses a reservation that leaves no CPU to everything else.
func (h *Host) NeedHousekeeping() error {
	if len(h.Housekeeping) > 0 {
		return nil
	}
	return &UsageError{fmt.Sprintf("reserve CPU %s: no other CPU of %s is left for the kernel and all other programs; "+
		"reserve fewer",
		h.Reserved, h.Topology.Online)}
}

// Partition is the type of cpuset partition for slots of this width: the CPUs of "isolated" are not balanced among
// themselves.
func (h *Host) Partition() string {
	if h.Width > 1 {
		return "root"
	}
	return "isolated"
}

// Names replaces the placeholders of texts.
func (h *Host) Names() *strings.Replacer {
	return strings.NewReplacer("{R}", h.Reserved.String(), "{RW}", Spaced(h.Reserved), "{H}", h.Housekeeping.String(),
		"{HM}", h.Housekeeping.Mask(), "{W}", strconv.Itoa(h.Width), "{P}", h.Partition())
}

// Spaced writes the CPUs of a set for a loop of the shell.
func Spaced(set cpuset.Set) string { return strings.Trim(fmt.Sprint([]int(set)), "[]") }

// Glob finds files by a constant pattern, which cannot be malformed.
func (h *Host) Glob(pattern string) []string {
	found, _ := h.FS.Glob(pattern)
	return found
}

// Optional reads a file that may be missing or unreadable; then it is "".
func (h *Host) Optional(path string) string {
	text, err := h.FS.Read(path)
	if err != nil {
		return ""
	}
	return text
}

// number is 0 for a missing or invalid one.
func (h *Host) number(file string) int {
	n, err := strconv.Atoi(h.Optional(file))
	if err != nil {
		return 0
	}
	return n
}

// Others are the CPUs of a set that are not reserved; if none of them is online, all housekeeping CPUs.
func (h *Host) Others(set cpuset.Set) cpuset.Set {
	if rest := set.Minus(h.Reserved); len(rest.Intersect(h.Topology.Online)) > 0 {
		return rest
	}
	return h.Housekeeping
}
