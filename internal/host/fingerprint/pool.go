package fingerprint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"judged/internal/api"
)

// schema is the version of the JSON of a Fingerprint.
const schema = 1

// Fingerprint is what a host's times depend on.
type Fingerprint struct {
	Schema int               `json:"schema"`
	Sum    string            `json:"fingerprint"` // 16 hex digits over Hard
	Hard   map[string]string `json:"hard"`        // hosts that differ in one must not be compared
	Soft   map[string]string `json:"soft"`        // may differ within a pool
	// Kernels is how long reference kernels take; nil where they were not run.
	Kernels *api.KernelTimes `json:"kernels,omitempty"`
}

// Members that a capture cuts, since they can hold secrets: they cannot be compared of one.
const (
	commandLine = "cmdline"
	kernelBuild = "kernel build"
)

// Cut are the members that a captured host does not tell.
func Cut() []string { return []string{commandLine, kernelBuild} }

func (f Fingerprint) sum() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f.Hard)) {
		fmt.Fprintf(&b, "%s: %s\n", name, f.Hard[name])
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// Parse reads what judged doctor --fingerprint printed. Members that are not known are an error only
// as differences: the other host may run another judged.
func Parse(text []byte) (Fingerprint, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var f Fingerprint
	switch err := d.Decode(&f); {
	case err != nil:
		return f, fmt.Errorf("parse fingerprint: %w", err)
	case f.Schema != schema:
		return f, fmt.Errorf("parse fingerprint: schema %d, want %d; create it again with judged doctor --fingerprint",
			f.Schema, schema)
	case len(f.Hard) == 0 || f.Sum != f.sum():
		return f, fmt.Errorf("parse fingerprint: %q is not the sum of its members; create it again with judged doctor "+
			"--fingerprint", f.Sum)
	}
	if err := f.Kernels.Check(); err != nil {
		return f, fmt.Errorf("parse fingerprint: %w; create it again with judged doctor --fingerprint "+
			"--probe=probe-canary", err)
	}
	return f, nil
}

// OfJudged are the members that are a choice of judged's operator and no property of a host: judges of one pool may use
// other CPUs, and one may have been updated before the others.
func OfJudged() []string { return []string{"slots", "program"} }

// Difference is a member that two hosts do not have in common.
type Difference struct {
	Name, Here, Pool string // the values; "" for a member that is missing
}

// Differences compares a host with the fingerprint of its pool, in the order of names. Members of
// except are left out.
func Differences(here, pool map[string]string, except []string) []Difference {
	names := map[string]bool{}
	for _, m := range []map[string]string{here, pool} {
		for name := range m {
			names[name] = true
		}
	}
	var found []Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if here[name] != pool[name] && !slices.Contains(except, name) {
			found = append(found, Difference{name, here[name], pool[name]})
		}
	}
	return found
}
