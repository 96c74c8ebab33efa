package jobs

import (
	"context"
	"database/sql"
	"time"

	"judged/internal/api"
)

// Depths is the number of queued jobs by pool and priority. Audits are not counted.
type Depths map[string]map[api.Priority]int

// Total returns the sum over all pools.
func (d Depths) Total() (n int) {
	for _, pool := range d {
		for _, waiting := range pool {
			n += waiting
		}
	}
	return n
}

// waitingText groups by the first columns of jobs_line, so that it sorts nothing: countText, which also groups by
// tenant, takes several times as long. There are few jobs with a delay that has not passed.
const waitingText = `SELECT pool, priority, n, (SELECT created FROM jobs WHERE seq = lowest) FROM (
SELECT pool, priority, COUNT(*) AS n, MIN(seq) AS lowest FROM jobs WHERE parked = 0 AND finished = 0 GROUP BY pool, priority
UNION ALL
SELECT pool, priority, COUNT(*), MIN(seq) FROM jobs WHERE parked > 0 AND +state = 0 GROUP BY pool, priority) AS lines`

// Waiting counts the queued jobs of all tenants, and returns when the oldest of each priority was submitted. A job whose
// lease has expired counts once it is queued again.
func (s *Store) Waiting(ctx context.Context) (depths Depths, oldest map[api.Priority]time.Time, err error) {
	depths, oldest = Depths{}, map[api.Priority]time.Time{}
	err = s.rows(ctx, s.read, query{"count waiting jobs", waitingText, nil}, func(rows *sql.Rows) error {
		var pool string
		var number, n int
		var created int64
		if err := rows.Scan(&pool, &number, &n, &created); err != nil || number >= auditPriority {
			return err
		}
		priority := api.Priorities()[number]
		if depths[pool] == nil {
			depths[pool] = map[api.Priority]int{}
		}
		depths[pool][priority] += n
		if first, at := oldest[priority], timeOf(created); first.IsZero() || at.Before(first) {
			oldest[priority] = at
		}
		return nil
	})
	return depths, oldest, err
}

// Depth counts the queued jobs as Waiting does.
func (s *Store) Depth(ctx context.Context) (Depths, error) {
	depths, _, err := s.Waiting(ctx)
	return depths, err
}
