package checker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"judged/internal/api"
)

// A Checker decides whether output is a correct answer to a test. It has no state: one value can be used for any number
// of concurrent checks.
type Checker interface {
	// Check reads output and answer until they differ or end. The verdict in the report is AC or WA, or PC with a score;
	// with WA its message gives the position of the first difference and quotes both sides, escaped and cut to a few
	// dozen bytes.
	// Check returns an error only if a side cannot be read or ctx ends. The report is then invalid.
	Check(ctx context.Context, output, answer io.Reader) (api.CheckReport, error)
	// String returns the kind, as Parse accepts it.
	String() string
}

// A Kind is one way to compare. Help texts, error messages and the OpenAPI document list the kinds from Kinds or are
// tested against it.
type Kind struct {
	Name     string // "float"
	Argument string // "EPS", after the name and a colon; empty for none
	Example  string // "float:1e-6"
	HasFlags bool   // whether Parse takes flags for it

	parse func(argument string, flags []string) (comparison, error)
}

// A comparison returns the first difference, or nil.
type comparison func(output, answer *source) *difference

// Kinds returns the checkers of judged.
func Kinds() []Kind {
	return []Kind{
		{Name: "tokens", Example: "tokens", parse: always(ignoreCase.compare)},
		{Name: "exact", Example: "exact", parse: always(compareExact)},
		{Name: "lines", Example: "lines", parse: always(compareLines)},
		{Name: "words", Example: "words", parse: always(inLines.compare)},
		{Name: "kattis", Example: "kattis", HasFlags: true, parse: parseKattis},
		{Name: "dmoj", Example: "dmoj", HasFlags: true, parse: parseDMOJ},
		{Name: "float", Argument: "EPS", Example: "float:1e-6", parse: parseFloat},
	}
}

// DefaultKind is the kind used for a job that names none.
const DefaultKind = "tokens"

// Usage returns the kinds for people: "tokens, exact, lines, words, kattis, dmoj or float:EPS such as float:1e-6".
func Usage() string {
	var forms []string
	for _, k := range Kinds() {
		form := k.Name
		if k.Argument != "" {
			form += ":" + k.Argument + " such as " + k.Example
		}
		forms = append(forms, form)
	}
	last := len(forms) - 1
	return strings.Join(forms[:last], ", ") + " or " + forms[last]
}

// Parse returns the checker of a kind in a job: one of the Kinds, with its argument. The flags of kattis are those of
// problem packages, one word each, with a number after its flag.
func Parse(kind string, flags ...string) (Checker, error) {
	name, argument, hasArgument := strings.Cut(kind, ":")
	for _, k := range Kinds() {
		if k.Name != name || hasArgument != (k.Argument != "") {
			continue
		}
		if len(flags) > 0 && !k.HasFlags {
			return nil, fmt.Errorf("checker %q takes no arguments; leave them out", kind)
		}
		compare, err := k.parse(argument, flags)
		if err != nil {
			return nil, fmt.Errorf("parse checker %q: %w", kind, err)
		}
		return builtin{kind, compare}, nil
	}
	return nil, fmt.Errorf("unknown checker %q: use %s", kind, Usage())
}

// always returns a parser that ignores its arguments and returns c.
func always(c comparison) func(string, []string) (comparison, error) {
	return func(string, []string) (comparison, error) { return c, nil }
}

func parseFloat(eps string, _ []string) (comparison, error) {
	e, err := parseEpsilon(eps)
	if err == nil && e.float == 0 {
		err = errEpsilonRange(eps)
	}
	if err != nil {
		return nil, err
	}
	return tokens{same: tolerance{absolute: e, relative: e, text: sameText}.same, prefix: prefixFold}.compare, nil
}

// builtin is a comparison with its name.
type builtin struct {
	kind    string
	compare comparison
}

// bufferSize is the memory for each side of a check. It is also the length of the longest number of float:EPS.
const bufferSize = 64 << 10

// buffers is a pool, because the buffers are most of the memory allocated to judge a small test.
var buffers = sync.Pool{New: func() any { return new([2][bufferSize + lookback]byte) }}

// String returns the kind.
func (b builtin) String() string { return b.kind }

// Check implements Checker in bounded memory.
func (b builtin) Check(ctx context.Context, output, answer io.Reader) (api.CheckReport, error) {
	both := buffers.Get().(*[2][bufferSize + lookback]byte)
	defer buffers.Put(both)
	out, ans := newSource(ctx, "output", output, both[0][:]), newSource(ctx, "answer", answer, both[1][:])
	diff := b.compare(out, ans)
	// The comparison treats a failed read as the end of the stream, so errors are checked first.
	if err := errors.Join(out.failure(), ans.failure()); err != nil {
		return api.CheckReport{}, err
	}
	switch {
	case diff == nil:
		return api.CheckReport{Verdict: api.Accepted}, nil
	case diff.ratio > 0:
		return api.CheckReport{Verdict: api.Partial, Score: &diff.ratio, Ratio: true, Message: diff.describe(out, ans)}, nil
	}
	return api.CheckReport{Verdict: api.WrongAnswer, Message: diff.describe(out, ans)}, nil
}
