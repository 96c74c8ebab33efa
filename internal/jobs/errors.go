package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrUnavailable is when the database cannot do its work now: the disk is
	// full, the file system read-only, the server away. The same call may
	// succeed later without reopening the store.
	ErrUnavailable = errors.New("database unavailable")
	// ErrNotFound is for a job that does not exist or was deleted.
	ErrNotFound = errors.New("no such job")
	// ErrConflict is for an id that another job has.
	ErrConflict = errors.New("another job has this id")
	// ErrFull is when as many jobs wait as Options.MaxWaiting allows.
	ErrFull = errors.New("the queue is full")
	// ErrFinal is for a job that has ended and cannot change any more.
	ErrFinal = errors.New("the job has ended")
	// ErrStale is for a lease that was lost: another attempt has the job, or
	// it waits again.
	ErrStale = errors.New("another attempt has the job")
	// ErrBadID is for an id that ValidID refuses.
	ErrBadID = errors.New("a job's id is 1 to 64 letters, digits, . _ and -, a letter or digit first")
	// ErrBadCursor is for a Filter.After that List did not return.
	ErrBadCursor = errors.New("not a cursor of this list")
)

// Operations are the names that Options.OnUnavailable is called with: the first
// words of the operations that errors name.
func Operations() []string {
	return []string{"put", "take", "extend", "return", "finish", "cancel", "read", "list", "count", "set", "emit", "sweep", "reclaim", "adopt", "migrate"}
}

// explain names the operation in the error of a database, and marks errors that
// can pass by themselves. caller is the context that the operation was given,
// without the store's own timeout.
func (s *Store) explain(caller context.Context, operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case caller.Err() != nil:
		return fmt.Errorf("%s: %w", operation, caller.Err())
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: no answer within %v; check that %s is up and its disk is not stalled", ErrUnavailable, s.opts.Timeout, s.driver.name)
	default:
		if hint := s.driver.unavailable(err); hint != "" {
			err = fmt.Errorf("%w: %w; %s", ErrUnavailable, oneLine{err}, hint)
		}
	}
	if errors.Is(err, ErrUnavailable) && s.opts.OnUnavailable != nil {
		name, _, _ := strings.Cut(operation, " ")
		s.opts.OnUnavailable(name)
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// oneLine is an error without line breaks: pgx lists its attempts to connect.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Unwrap() error { return e.error }

// maxID is the longest id in bytes.
const maxID = 64

// ValidID reports whether id may name a job: 1 to 64 of A-Z a-z 0-9 . _ - and
// a letter or digit first, so that it is safe in a path and in a URL.
func ValidID(id string) bool {
	if id == "" || len(id) > maxID || !alphanumeric(id[0]) {
		return false
	}
	for i := range len(id) {
		if c := id[i]; !alphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
