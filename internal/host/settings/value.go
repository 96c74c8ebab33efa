package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"judged/internal/base/cpuset"
	"judged/internal/base/text"
)

// Kind is the format of a value in its file. Values are compared by meaning, not by bytes: the kernel prints
// masks with leading zeros, the chosen word among others, and lines with or without a line feed.
type Kind string

// The kinds.
const (
	Word  Kind = "word"  // the whole content
	Token Kind = "token" // the word in brackets; writes must contain only the word, or fail with EINVAL
	List  Kind = "list"  // CPUs such as 0-3,7
	Mask  Kind = "mask"  // CPUs as a hex mask
)

// Meaning returns the canonical form of a file's content.
func (k Kind) Meaning(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch k {
	case Token:
		for w := range strings.FieldsSeq(text) {
			if len(w) > 2 && w[0] == '[' && w[len(w)-1] == ']' {
				return w[1 : len(w)-1], nil
			}
		}
		return "", fmt.Errorf("no word in brackets in %q", text)
	case List:
		set, err := k.Set(text)
		return set.String(), err
	case Mask:
		set, err := k.Set(text)
		return set.Mask(), err
	}
	return text, nil
}

// Set parses the CPUs of a list or a mask.
func (k Kind) Set(text string) (cpuset.Set, error) {
	if k == Mask {
		text = "0x" + text
	}
	return cpuset.Parse(text)
}

// Grade is how doctor reports a wrong value.
type Grade int

// The grades.
const (
	Ignored Grade = iota // judged tune sets the value, doctor ignores it
	Warns
	Fails
)

// Value is a group of files of a setting with the same meaning.
type Value struct {
	// Pattern is a host path. In it, * matches part of a name, and {cpu} is replaced by each reserved CPU.
	Pattern string
	Kind    Kind
	To      string   // the wanted value, with placeholders; "" if Want returns it
	Or      []string // equally good values
	// Want returns the wanted value if it depends on the host or the current value. If it returns the current
	// value, nothing changes. The reason explains a missing wanted value.
	Want  func(h *Host, path, now string) (wanted, reason string)
	Wrong Grade
	Worst []string // values that fail; other wrong values warn
	// MayRefuse means that the kernel rejects writes to some of these files on every host, which is not a
	// failure.
	MayRefuse bool
	// Wakes means that reading the file interrupts its CPU, because the value is in a register of that CPU.
	Wakes bool
}

// Wanted returns the wanted value on a host.
func (v Value) Wanted(h *Host, path, now string) (wanted, reason string) {
	switch {
	case v.Want != nil:
		return v.Want(h, path, now)
	case slices.Contains(v.Or, now):
		return now, ""
	}
	return h.Names().Replace(v.To), ""
}

// Files returns the paths of a value on a host.
func (v Value) Files(h *Host) []string {
	var files []string
	if before, after, perCPU := strings.Cut(v.Pattern, "{cpu}"); perCPU {
		for _, id := range h.Reserved.Intersect(h.Topology.Online) {
			files = append(files, h.Glob(fmt.Sprintf("%s%d%s", before, id, after))...)
		}
		return files
	}
	return h.Glob(v.Pattern)
}

// Absent reports whether a read error means that the host does not have the value: intel_pstate returns EAGAIN
// while another driver is active.
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENODEV) ||
		errors.Is(err, syscall.EOPNOTSUPP)
}

var digits = text.Pattern(`^[0-9]+$`)

// Matches reports whether p can match the pattern on some host.
func (v Value) Matches(p string) bool {
	before, after, perCPU := strings.Cut(v.Pattern, "{cpu}")
	if !perCPU {
		ok, err := path.Match(v.Pattern, p)
		return err == nil && ok
	}
	rest, ok := strings.CutPrefix(p, before)
	if !ok {
		return false
	}
	id := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	ok, err := path.Match(after, rest[len(id):])
	return digits().MatchString(id) && err == nil && ok
}

// Name returns the pattern in a readable form.
func (v Value) Name() string {
	return strings.NewReplacer("{cpu}", "[id]", "[0-9]*", "[id]", "*", "[name]").Replace(v.Pattern)
}

func (v Value) shellPattern() string { return strings.ReplaceAll(v.Pattern, "{cpu}", "*") }

// command returns a shell command that writes the wanted value.
func (v Value) command() string {
	switch {
	case strings.Contains(v.Pattern, "{cpu}"):
		return fmt.Sprintf("for c in {RW}; do echo %s > %s; done", v.To, strings.ReplaceAll(v.Pattern, "{cpu}", "$c"))
	case strings.ContainsAny(v.Pattern, "*["):
		return fmt.Sprintf("for f in %s; do echo %s > $f; done", v.Pattern, v.To)
	}
	return fmt.Sprintf("echo %s > %s", v.To, v.Pattern)
}
