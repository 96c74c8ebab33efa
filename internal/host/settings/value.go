package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"judged/internal/base/cpuset"
)

// Kind is how the kernel shows a value. What is compared is the meaning and not the bytes: the kernel prints masks with
// leading zeros, a chosen word among others, and lines with or without an end.
type Kind string

// The kinds.
const (
	Word  Kind = "word"  // the whole content
	Token Kind = "token" // the word in brackets; only that word may be written, the whole line is EINVAL
	List  Kind = "list"  // CPUs as 0-3,7
	Mask  Kind = "mask"  // CPUs as a hex mask
)

// Meaning is what a file's content says.
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

// Grade is what doctor makes of a wrong value.
type Grade int

// The grades.
const (
	Ignored Grade = iota // judged tune sets the value, doctor does not look at it
	Warns
	Fails
)

// Value is one kind of file of a setting.
type Value struct {
	// Pattern is a host path in which * stands for a part of a name and {cpu} for the number of each reserved CPU.
	Pattern string
	Kind    Kind
	To      string   // the wanted value, with placeholders; "" where only Want knows it
	Or      []string // values that are as good
	// Want is the wanted value where that depends on the host or on the present value. To return the present value
	// changes nothing. The reason says why there is no wanted value.
	Want  func(h *Host, path, now string) (wanted, reason string)
	Wrong Grade
	Worst []string // values that fail where others warn
	// MayRefuse: the kernel refuses some of these files on every host, and that is no failure.
	MayRefuse bool
	// Wakes: reading it interrupts the CPU that it belongs to, because it is a register there.
	Wakes bool
}

// Wanted returns the value that is wanted on a host.
func (v Value) Wanted(h *Host, path, now string) (wanted, reason string) {
	switch {
	case v.Want != nil:
		return v.Want(h, path, now)
	case slices.Contains(v.Or, now):
		return now, ""
	}
	return h.Names().Replace(v.To), ""
}

// Files are the paths of a value on a host.
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

// Absent reports whether an error of reading a value means that the host does not have it: intel_pstate answers EAGAIN
// while another driver is in charge.
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENODEV) ||
		errors.Is(err, syscall.EOPNOTSUPP)
}

var digits = regexp.MustCompile(`^[0-9]+$`)

// Matches reports whether a path is one that the pattern names on some host.
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
	return digits.MatchString(id) && err == nil && ok
}

// Name is the pattern for people.
func (v Value) Name() string {
	return strings.NewReplacer("{cpu}", "[id]", "[0-9]*", "[id]", "*", "[name]").Replace(v.Pattern)
}

func (v Value) shellPattern() string { return strings.ReplaceAll(v.Pattern, "{cpu}", "*") }

// command writes the wanted value in a shell.
func (v Value) command() string {
	switch {
	case strings.Contains(v.Pattern, "{cpu}"):
		return fmt.Sprintf("for c in {RW}; do echo %s > %s; done", v.To, strings.ReplaceAll(v.Pattern, "{cpu}", "$c"))
	case strings.ContainsAny(v.Pattern, "*["):
		return fmt.Sprintf("for f in %s; do echo %s > $f; done", v.Pattern, v.To)
	}
	return fmt.Sprintf("echo %s > %s", v.To, v.Pattern)
}
