package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"judged/internal/api"
)

var (
	// ErrConflict means that another job has the same ID.
	ErrConflict = errors.New("another job has this id")
	// ErrFull means that Options.MaxWaiting jobs are queued.
	ErrFull = errors.New("the queue is full")
	// ErrNoProblem means that the problem does not exist or was deleted.
	ErrNoProblem = errors.New("no such problem")
	// ErrNotOwner means that another token stored the problem.
	ErrNotOwner = errors.New("another token stored the problem")
	// ErrNoRejudging means that the rejudging does not exist or was deleted.
	ErrNoRejudging = errors.New("no such rejudging")
	// ErrNoReceiver means that no callback of the receiver has failed.
	ErrNoReceiver = errors.New("no such receiver")
	// ErrBadID means that ValidID rejects the ID.
	ErrBadID = errors.New("invalid ID: want 1 to 64 of A-Z a-z 0-9 . _ -, starting with a letter or digit")
	// ErrBadBackup means that Restore cannot use the file: it is damaged, was written by a newer judged, or is not a
	// backup.
	ErrBadBackup = errors.New("unusable backup")
	// ErrNoPosition means that the feed has no event at a position: it is too old, or from another database.
	ErrNoPosition = errors.New("no such position in the feed")
	// ErrBadCursor means that the cursor does not come from List or Problems.
	ErrBadCursor = errors.New("invalid cursor")
)

// Operations returns the names that Options.OnUnavailable is called with. They are the first words of the operations in
// errors.
func Operations() []string {
	return []string{"put", "take", "extend", "return", "finish", "cancel", "read", "list", "count", "set", "emit",
		"sweep", "delete", "reclaim", "adopt", "migrate", "apply"}
}

// explain adds the operation to a database error, and ErrUnavailable to temporary errors. caller is the context of the
// caller, without the timeout of the store.
func (s *Store) explain(caller context.Context, operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case caller.Err() != nil:
		return fmt.Errorf("%s: %w", operation, caller.Err())
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: no answer within %v; check that %s is up and its disk is not stalled", api.ErrUnavailable,
			s.opts.Timeout, s.driver.name)
	default:
		if hint := s.driver.unavailable(err); hint != "" {
			err = fmt.Errorf("%w: %w; %s", api.ErrUnavailable, oneLine{err}, hint)
		}
	}
	if errors.Is(err, api.ErrUnavailable) && s.opts.OnUnavailable != nil {
		name, _, _ := strings.Cut(operation, " ")
		s.opts.OnUnavailable(name)
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// oneLine removes line breaks from an error. pgx lists its connection attempts on several lines.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Unwrap() error { return e.error }
