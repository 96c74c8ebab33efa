package intake

import (
	"fmt"
	"slices"
	"strings"

	"judged/internal/api"
)

// Errors lists everything that is wrong with a job, in the order of its members. It is never returned empty.
type Errors []api.FieldError

// Error returns all errors on one line.
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

// maxErrors limits the response to a job with a thousand errors.
const maxErrors = 20

func (e *Errors) add(field, format string, args ...any) {
	switch {
	case len(*e) < maxErrors:
		*e = append(*e, api.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
	case len(*e) == maxErrors:
		*e = append(*e, api.FieldError{Detail: "further findings are left out"})
	}
}

// check adds an error unless ok.
func (e *Errors) check(ok bool, field, format string, args ...any) {
	if !ok {
		e.add(field, format, args...)
	}
}

// With returns e and those errors of more that concern other members: a member that cannot be read is also missing, but
// that is one error.
func (e Errors) With(more Errors) Errors {
	all := slices.Clone(e)
	for _, f := range more {
		if !slices.ContainsFunc(e, func(known api.FieldError) bool {
			return within(known.Field, f.Field) || within(f.Field, known.Field)
		}) {
			all = append(all, f)
		}
	}
	if len(all) > maxErrors {
		all = append(all[:maxErrors], api.FieldError{Detail: "further findings are left out"})
	}
	return all
}

// within reports whether member is outer or a part of it.
func within(outer, member string) bool {
	rest, ok := strings.CutPrefix(member, outer)
	return ok && (outer == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// err returns e as an error, or nil if it is empty.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}
