package checker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"judged/internal/base/job"
)

// A Checker decides whether output answers a test. It has no state: one value
// serves any number of concurrent checks.
type Checker interface {
	// Check reads output and answer until they differ or end. The report's
	// verdict is AC or WA; with WA its message names the place of the first
	// difference and quotes both sides, escaped and cut to a few dozen bytes.
	// The error is not nil only if one side could not be read or ctx ended;
	// the report is then worthless.
	Check(ctx context.Context, output, answer io.Reader) (job.CheckReport, error)
	// String is the kind, as Parse accepts it.
	String() string
}

// Parse returns the checker of a kind: tokens, exact, lines or float:EPS with
// EPS a positive number such as 1e-6.
func Parse(kind string) (Checker, error) {
	switch kind {
	case "tokens":
		return builtin{kind, tokens{same: sameText}.compare}, nil
	case "exact":
		return builtin{kind, compareExact}, nil
	case "lines":
		return builtin{kind, compareLines}, nil
	}
	if eps, ok := strings.CutPrefix(kind, "float:"); ok {
		t, err := parseTolerance(eps)
		if err != nil {
			return nil, fmt.Errorf("parse checker %q: %w", kind, err)
		}
		return builtin{kind, tokens{same: t.same}.compare}, nil
	}
	return nil, fmt.Errorf("unknown checker %q: use tokens, exact, lines or float:EPS, such as float:1e-6", kind)
}

// builtin is a comparison with its name.
type builtin struct {
	kind    string
	compare func(output, answer *source) *difference
}

// bufferSize bounds the memory of a check, twice: one buffer a side. It is also the
// longest number that float:EPS takes for one.
const bufferSize = 64 << 10

// String is the kind.
func (b builtin) String() string { return b.kind }

// Check compares in bounded memory.
func (b builtin) Check(ctx context.Context, output, answer io.Reader) (job.CheckReport, error) {
	out := newSource(ctx, "output", output, bufferSize)
	ans := newSource(ctx, "answer", answer, bufferSize)
	diff := b.compare(out, ans)
	// A read that failed looks like an early end to the comparison, so errors
	// come before what it found.
	if err := errors.Join(out.failure(), ans.failure()); err != nil {
		return job.CheckReport{}, err
	}
	if diff != nil {
		return job.CheckReport{Verdict: job.WrongAnswer, Message: diff.message(out, ans)}, nil
	}
	return job.CheckReport{Verdict: job.Accepted}, nil
}
