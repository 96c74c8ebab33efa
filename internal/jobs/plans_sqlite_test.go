package jobs

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// scansSQLite lists plans that may read a whole table or index: start of the statement -> reason.
var scansSQLite = map[string]string{
	countText:                  "counts the queue, in the background",
	waitingText:                "counts the queue",
	"DELETE FROM key_value":    "reads all values once a minute",
	"SELECT COALESCE(MAX(CASE": "reads a batch in the order of the table, once a minute",
	"SELECT COUNT(*) FROM audits WHERE finished": "reads the audits that are not compared yet",
	"SELECT outputs FROM jobs":                   "reads all outputs once an hour, and no other jobs",
}

// TestPlansSQLite checks the plan of every statement. SQLite has no statistics here, so the plan does not depend on the
// data.
func TestPlansSQLite(t *testing.T) {
	testkit.Need(t, testkit.Time)
	s, err := connect(Options{File: filepath.Join(t.TempDir(), "judged.db"), MaxWaiting: 1000, MaxJobs: 10})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	texts := map[string]bool{}
	replace := s.driver.sql
	s.driver.sql = func(text string) string {
		text = replace(text)
		mu.Lock()
		defer mu.Unlock()
		texts[text] = true
		return text
	}
	s, err = s.run(t.Context(), migrations)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Store: s, t: t, clock: &clock{}}
	b.exercise("sqlite")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := openSQLiteFile(s.opts.File, "immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	planned := 0
	for text := range texts {
		if !regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE)`).MatchString(text) || strings.Contains(text,
			"judged_schema") {
			continue
		}
		planned++
		exception := false
		for begin := range scansSQLite {
			exception = exception || strings.HasPrefix(text, begin)
		}
		for _, step := range explainSQLite(t, db, text) {
			if strings.HasPrefix(step, "SCAN j USING INDEX jobs_created") && strings.Contains(text, "LIMIT") {
				continue // a page of the list without a filter
			}
			if strings.HasPrefix(step, "SCAN rejudgings USING INDEX rejudgings_unfinished") {
				continue // there is no other index
			}
			whole := regexp.MustCompile(`^SCAN (jobs|j|labels|l|events|e|feed|f|audits|key_value|rejudg\w+|r|callbacks|c|receivers)\b`).
				MatchString(step)
			sorts := strings.HasPrefix(step, "USE TEMP B-TREE FOR ORDER BY")
			if (whole || sorts) && !exception {
				t.Errorf("%s: %s", step, text)
			}
		}
	}
	if planned < 40 {
		t.Errorf("only %d statements were seen", planned)
	}
}

// TestWaitingPlanSQLite checks that counting the queue sorts no queued jobs.
func TestWaitingPlanSQLite(t *testing.T) {
	b := sqliteBackend().open(t, nil)
	want := []string{"CO-ROUTINE lines", "COMPOUND QUERY", "LEFT-MOST SUBQUERY",
		"SCAN jobs USING COVERING INDEX jobs_line", "UNION ALL",
		"SEARCH jobs USING COVERING INDEX jobs_parked (parked>?)", "USE TEMP B-TREE FOR GROUP BY", "SCAN lines",
		"CORRELATED SCALAR SUBQUERY 1", "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"}
	if diff := cmp.Diff(want, explainSQLite(t, b.read, waitingText)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func explainSQLite(t *testing.T, db *sql.DB, text string) (steps []string) {
	t.Helper()
	highest := 0
	for _, m := range regexp.MustCompile(`\?(\d+)`).FindAllStringSubmatch(text, -1) {
		var n int
		if _, err := fmt.Sscan(m[1], &n); err != nil {
			t.Fatal(err)
		}
		highest = max(highest, n)
	}
	found, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, highest)...)
	if err != nil {
		t.Fatalf("explain: %v: %s", err, text)
	}
	err = each(found, func(rows *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		steps = append(steps, step)
		return err
	})
	if err != nil || len(steps) == 0 && !strings.HasPrefix(text, "INSERT") {
		t.Fatalf("explain: %v, %d steps: %s", err, len(steps), text)
	}
	return steps
}

// TestStepsSQLite compares the time of each step of a job in a database with many jobs that cannot be taken and in an
// empty one, in alternation.
func TestStepsSQLite(t *testing.T) {
	testkit.Need(t, testkit.Time)
	be := sqliteBackend()
	few, many := be.open(t, nil), be.open(t, nil)
	seed(t, many.Store, 100_000, 200_000)
	if _, err := many.write.ExecContext(t.Context(),
		`UPDATE jobs SET due = ?1, parked = ?1 WHERE seq % 2 AND finished = 0`,
		time.Now().Add(time.Hour).UnixNano()); err != nil {
		t.Fatal(err)
	}
	if _, err := many.write.ExecContext(t.Context(),
		`UPDATE jobs SET width = 4 WHERE parked = 0 AND finished = 0`); err != nil {
		t.Fatal(err)
	}
	names := []string{"put", "take", "extend", "return", "take again", "finish"}
	times := [2][][]time.Duration{make([][]time.Duration, len(names)), make([][]time.Duration, len(names))}
	for n := range 100 {
		for i, b := range []*bench{few, many} {
			var w api.Work
			for step, f := range []func(){
				func() { b.put(fmt.Sprint("step", n), func(j *api.Job) { j.Priority = api.Background }) },
				func() { w = b.take() },
				func() {
					_, err := b.Extend(b.ctx(), w.Lease)
					b.must(err)
				},
				func() { b.must(b.Return(b.ctx(), w.Lease, api.Returned{Uncounted: true})) },
				func() { w = b.take() },
				func() { b.finish(w.Lease, api.Accepted) },
			} {
				start := time.Now()
				f()
				times[i][step] = append(times[i][step], time.Since(start))
			}
		}
	}
	for step, name := range names {
		a, z := median(times[0][step]), median(times[1][step])
		t.Logf("%s: %v, next to many %v", name, a, z)
		if z > 4*a {
			t.Errorf("%s takes %v next to many jobs and %v without them", name, z, a)
		}
	}
}
