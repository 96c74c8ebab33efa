package intake

import (
	"fmt"
	"strings"
)

// FieldError is one finding about a job.
type FieldError struct {
	Field  string `json:"field"` // as in JSON, such as tests[3].name; "" is the whole job
	Detail string `json:"detail"`
}

// Errors are all findings about a job, in the order of its members. It is never
// returned empty.
type Errors []FieldError

// Error tells all findings on one line.
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
		*e = append(*e, FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
	case len(*e) == maxErrors:
		*e = append(*e, FieldError{Detail: "further findings are left out"})
	}
}

// check adds a finding unless ok.
func (e *Errors) check(ok bool, field, format string, args ...any) {
	if !ok {
		e.add(field, format, args...)
	}
}

// err is e as an error, nil when nothing was found.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// quote is text from outside, safe to show and short.
func quote(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
