package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Copies returns how many jobs repeat each of some jobs, or have an earlier report of it: by its ID, and then by the
// label of the copies, such as RejudgeLabel.
func (s *Store) Copies(ctx context.Context, ids ...string) (map[string]map[string]int, error) {
	type copied struct{ id, label string }
	all, of := map[string]map[string]int{}, map[string]copied{}
	var hashes []any
	var marks []string
	for _, id := range ids {
		for _, label := range CopyLabels() {
			hash := labelHash(label, id)
			hashes, of[string(hash)] = append(hashes, hash), copied{id, label}
			marks = append(marks, fmt.Sprint("?", len(hashes)))
		}
	}
	if len(hashes) == 0 {
		return all, nil
	}
	text := `SELECT label, COUNT(*) FROM labels WHERE label IN (` + strings.Join(marks, ", ") + `) GROUP BY label`
	err := s.adhoc(ctx, s.opts.Timeout, query{"count copies of jobs", text, hashes}, func(rows *sql.Rows) error {
		var hash []byte
		var n int
		err := rows.Scan(&hash, &n)
		found := of[string(hash)]
		if all[found.id] == nil {
			all[found.id] = map[string]int{}
		}
		all[found.id][found.label] = n
		return err
	})
	return all, err
}
