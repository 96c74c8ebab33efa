package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// FingerprintSchema is the version of the JSON of a Fingerprint.
const FingerprintSchema = 1

// Fingerprint has the properties of a host that its times depend on.
type Fingerprint struct {
	Schema int               `json:"schema"`
	Sum    string            `json:"fingerprint"` // 16 hex digits over Hard
	Hard   map[string]string `json:"hard"`        // hosts that differ in one of these are not comparable
	Soft   map[string]string `json:"soft"`        // may differ within a pool
	// Kernels has the times of reference kernels; nil if they were not run.
	Kernels *KernelTimes `json:"kernels,omitempty"`
}

// Members that a capture removes, because they can contain secrets: they cannot be compared for a captured host.
const (
	CommandLineMember = "cmdline"
	KernelBuildMember = "kernel build"
)

// CutMembers returns the members that a captured host lacks.
func CutMembers() []string { return []string{CommandLineMember, KernelBuildMember} }

// Digest returns 16 hex digits over the hard members.
func (f Fingerprint) Digest() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f.Hard)) {
		fmt.Fprintf(&b, "%s: %s\n", name, f.Hard[name])
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// ParseFingerprint parses the output of judged doctor --fingerprint. Unknown members are not an error; they count as
// differences, because the other host may run another version of judged.
func ParseFingerprint(text []byte) (Fingerprint, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var f Fingerprint
	switch err := d.Decode(&f); {
	case err != nil:
		return f, fmt.Errorf("parse fingerprint: %w", err)
	case f.Schema != FingerprintSchema:
		return f, fmt.Errorf("parse fingerprint: schema %d, want %d; create it again with judged doctor --fingerprint",
			f.Schema, FingerprintSchema)
	case len(f.Hard) == 0 || f.Sum != f.Digest():
		return f, fmt.Errorf("parse fingerprint: %q is not the sum of its members; create it again with judged doctor "+
			"--fingerprint", f.Sum)
	}
	if err := f.Kernels.Check(); err != nil {
		return f, fmt.Errorf("parse fingerprint: %w; create it again with judged doctor --fingerprint "+
			"--probe=probe-canary", err)
	}
	return f, nil
}

// JudgedMembers returns the members that judged's operator chooses and that are not properties of a host: judges of one
// pool may use other CPUs, and one may have been upgraded before the others.
func JudgedMembers() []string { return []string{"slots", "program"} }

// Differences compares a node with the fingerprint of its pool, in the order of names. It skips the members in except.
func Differences(node, pool map[string]string, except []string) []NodeDifference {
	names := map[string]bool{}
	for _, m := range []map[string]string{node, pool} {
		for name := range m {
			names[name] = true
		}
	}
	var found []NodeDifference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if node[name] != pool[name] && !slices.Contains(except, name) {
			found = append(found, NodeDifference{name, node[name], pool[name]})
		}
	}
	return found
}

// Apart returns by name the kernels whose times differ from those of a pool by more than a ratio. Kernels that only one
// of them has are ignored.
func (k *KernelTimes) Apart(pool map[string]time.Duration, most float64) []NodeDifference {
	var found []NodeDifference
	for _, kernel := range slices.Sorted(maps.Keys(k.CPUTime)) {
		here, there := k.CPUTime[kernel], pool[kernel]
		if there == 0 {
			continue
		}
		if apart := float64(here)/float64(there) - 1; math.Abs(apart) > most {
			found = append(found, NodeDifference{"reference kernel " + kernel,
				fmt.Sprintf("%s, %+.1f %%", milliseconds(here), 100*apart), milliseconds(there)})
		}
	}
	return found
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

// MedianTimes returns the median of hosts for each kernel that one of them has. For an even number it is the longer one
// of the two in the middle.
func MedianTimes(hosts []*KernelTimes) map[string]time.Duration {
	times := map[string][]time.Duration{}
	for _, host := range hosts {
		for kernel, took := range host.CPUTime {
			times[kernel] = append(times[kernel], took)
		}
	}
	median := map[string]time.Duration{}
	for kernel, all := range times {
		slices.Sort(all)
		median[kernel] = all[len(all)/2]
	}
	return median
}

// TimeBounds are the ratios by which times of equal slots or hosts may differ: beyond Warn operators are warned, and
// beyond Fail a verdict depends on where it was found.
type TimeBounds struct{ Warn, Fail float64 }

// TimeBoundsOf returns the bounds for virtual machines or for real ones. Other tenants of the host change the times of
// a virtual machine by a few percent.
func TimeBoundsOf(virtual bool) TimeBounds {
	if virtual {
		return TimeBounds{Warn: 0.02, Fail: 0.05}
	}
	return TimeBounds{Warn: 0.003, Fail: 0.01}
}

// HypervisorMember is the member that is "true" for virtual machines.
const HypervisorMember = "hypervisor"

// IsVirtual reports whether a host with these hard members is a virtual machine. A host without the member counts as
// one.
func IsVirtual(hard map[string]string) bool { return hard[HypervisorMember] != fmt.Sprint(false) }
