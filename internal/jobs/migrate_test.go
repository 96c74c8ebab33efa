package jobs

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs/blobs"
)

// later returns the schema with more versions after the existing ones.
func later(steps ...string) []string { return append(slices.Clone(migrations), steps...) }

func testMigrations(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("a", nil)
	s.finish(s.take().Lease, api.Accepted)
	before := s.get("a")
	next := later(
		`ALTER TABLE jobs ADD COLUMN later TEXT NOT NULL DEFAULT 'none'; CREATE INDEX jobs_later ON jobs (later);`,
		`CREATE TABLE later (name TEXT PRIMARY KEY, weight {blob});`)

	// If a step fails, the steps before it are rolled back too.
	_, err := open(t.Context(), s.o, later(next[len(next)-2], `CREATE TABLE broken (`))
	if err == nil {
		t.Fatal("a broken step succeeded")
	}
	if version := s.version(); version != len(migrations) {
		t.Errorf("the schema has version %d after a step that failed", version)
	}

	// Processes that start together migrate once.
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			o, err := open(t.Context(), s.o, next)
			if err != nil {
				t.Error(err)
				return
			}
			rec, err := o.Get(s.ctx(), "a")
			if diff := cmp.Diff(before, rec); diff != "" || err != nil {
				t.Errorf("after the migration: %v\n%s", err, diff)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	var later string
	s.must(s.read.QueryRow(`SELECT later FROM jobs`).Scan(&later))
	if version := s.version(); version != len(next) || later != "none" {
		t.Errorf("version %d, column %q", version, later)
	}

	_, err = Open(t.Context(), s.o)
	newer, known := fmt.Sprint("version ", len(next)), fmt.Sprint("up to ", len(migrations))
	if err == nil || !strings.Contains(err.Error(), newer) || !strings.Contains(err.Error(), known) {
		t.Errorf("a newer schema: got %v, want an error that names %s and %s", err, newer, known)
	}
}

func (b *bench) version() (version int) {
	b.t.Helper()
	b.must(b.read.QueryRow(`SELECT MAX(version) FROM judged_schema`).Scan(&version))
	return version
}

// testRenamedValues checks that values survive a migration and a restore from a version that called their table memory,
// and that fronts of that version, which keep running, can read and write them.
func testRenamedValues(t *testing.T, b backend) {
	set := func(b *bench, value string) {
		b.t.Helper()
		_, err := b.writeValue(b.ctx(), strings.ReplaceAll(setValue, "key_value", "memory"), value, []string{"name"})
		b.must(err)
	}
	want := func(b *bench, want string) {
		b.t.Helper()
		var got string
		if found, err := b.Value(b.ctx(), &got, "name"); !found || err != nil || got != want {
			b.t.Errorf("value %q, %v, %v; want %q", got, found, err, want)
		}
	}
	o, c := b.fresh(t), &clock{}
	o.Now = c.now
	store, err := open(t.Context(), o, migrations[:renamed-1])
	if err != nil {
		t.Fatal(err)
	}
	old := &bench{Store: store, t: t, clock: c, o: o}
	set(old, "before")
	s := old.again()
	want(s, "before")
	if s.driver.listen != nil { // there can be more than one process
		lead := strings.ReplaceAll(setLeader, "key_value", "memory")
		for _, step := range []struct {
			text string
			args []any
		}{
			{lead, []any{"leader", []byte("a"), 1, 0}},
			{lead, []any{"leader", []byte("a"), 2, 0}},
			{`UPDATE memory SET stored = 3 WHERE name = ?1`, []any{"leader"}},
			{`DELETE FROM memory WHERE stored < ?1`, []any{4}},
		} {
			if n, err := old.exec(s.ctx(), "old", step.text, step.args...); n != 1 || err != nil {
				t.Errorf("%s: %d rows, %v", step.text, n, err)
			}
		}
		set(old, "by the old one")
		want(s, "by the old one")
		s.must(s.SetValue(s.ctx(), "by the new one", "name"))
		var value string
		s.must(old.read.QueryRow(`SELECT convert_from(substr(value, 2), 'UTF8') FROM memory`).Scan(&value))
		if value != `"by the new one"` {
			t.Errorf("the old one reads %s", value)
		}
	}
	s.must(old.Close())

	s.must(s.SetValue(s.ctx(), "saved", "name"))
	file := filepath.Join(t.TempDir(), "backup")
	_, err = Backup(s.ctx(), s.o, blobs.Attach(t.TempDir()), file)
	s.must(err)
	data, err := os.ReadFile(file)
	s.must(err)
	data = edited(t, data, headerEntry, func(_ *tar.Header, c []byte) []byte {
		return bytes.Replace(c, fmt.Appendf(nil, `"schema":%d`, len(migrations)), fmt.Appendf(nil, `"schema":%d`, renamed-1), 1)
	})
	data = edited(t, data, rowsFolder+"feed", func(h *tar.Header, c []byte) []byte {
		h.Name = rowsFolder + "events/1.json"
		return []byte(`{"columns": ["job", "number", "body"], "rows": [[1, 1, ["AA=="]]]}`)
	})
	data = edited(t, data, rowsFolder+"key_value", func(h *tar.Header, c []byte) []byte {
		h.Name = rowsFolder + "memory/1.json"
		return c
	})
	s.must(os.WriteFile(file, resummed(t, data), 0o600))
	o = b.fresh(t)
	o.Now = c.now
	_, err = Restore(s.ctx(), o, within(t.TempDir()), file, unlocked)
	s.must(err)
	want(reopen(t, o, c), "saved")
}

// TestStartMayMigrate checks that what starts judged waits for a migration: it would kill each one, and start the next.
func TestStartMayMigrate(t *testing.T) {
	for file, want := range map[string]*regexp.Regexp{
		"judged.service":        regexp.MustCompile(`(?m)^TimeoutStartSec=(\d+)()min$`),
		"judged-front.service":  regexp.MustCompile(`(?m)^TimeoutStartSec=(\d+)()min$`),
		"kubernetes/front.yaml": regexp.MustCompile(`startupProbe:[^\n]*\n.*\n +periodSeconds: (\d+)\n +failureThreshold: (\d+)\n`),
	} {
		text, err := os.ReadFile(filepath.Join("../../deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		found, waits := want.FindStringSubmatch(string(text)), 90*time.Second // the default of systemd
		if found != nil {
			first, _ := strconv.Atoi(found[1])
			waits = time.Duration(first) * time.Minute
			if found[2] != "" {
				failures, _ := strconv.Atoi(found[2])
				waits = time.Duration(first*failures) * time.Second
			}
		}
		if waits <= migrateTimeout {
			t.Errorf("%s waits for %s, and a migration may take %s", file, waits, migrateTimeout)
		}
	}
}
