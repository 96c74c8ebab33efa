package jobspec

import (
	"fmt"
	"slices"
	"strings"

	"judged/internal/api"
)

// Errors are all findings about a job, in the order of its members. It is never
// returned empty.
type Errors []api.FieldError

// Error lists all findings on one line.
func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, f := range e {
		texts[i] = f.Detail
		if f.Field != "" {
			texts[i] = f.Field + ": " + f.Detail
		}
	}
	return strings.Join(texts, "; ")
}

// maxErrors bounds the answer to a job that is wrong a thousand times.
const maxErrors = 20

func (e *Errors) add(field, format string, args ...any) {
	switch {
	case len(*e) < maxErrors:
		*e = append(*e, api.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
	case len(*e) == maxErrors:
		*e = append(*e, api.FieldError{Detail: "further findings are left out"})
	}
}

// check adds a finding unless ok.
func (e *Errors) check(ok bool, field, format string, args ...any) {
	if !ok {
		e.add(field, format, args...)
	}
}

// With returns e and those findings of more that are about other members: a
// member that cannot be read is also missing, but that is one fault.
func (e Errors) With(more Errors) Errors {
	all := slices.Clone(e)
	for _, f := range more {
		if !slices.ContainsFunc(e, func(known api.FieldError) bool {
			return within(known.Field, f.Field) ||
				within(f.Field, known.Field)
		}) {
			all = append(all, f)
		}
	}
	if len(all) > maxErrors {
		all = append(all[:maxErrors], api.FieldError{Detail: "further findings are left out"})
	}
	return all
}

// within reports whether a member is the outer one or a part of it.
func within(outer, member string) bool {
	rest, ok := strings.CutPrefix(member, outer)
	return ok && (outer == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// err is e as an error, nil when nothing was found.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}
