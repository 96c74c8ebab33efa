package jobs

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs/blobs"
	"judged/internal/testkit"
)

// addBlob stores a file for a job.
func addBlob(t *testing.T, folder, content string) *api.File {
	t.Helper()
	s, err := blobs.Open(folder, 0)
	if err != nil {
		t.Fatal(err)
	}
	digest, _, _, err := s.Put(t.Context(), "", strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return &api.File{Blob: digest}
}

// dump returns everything that a store holds.
func dump(b *bench) (records []Record) {
	b.t.Helper()
	page, _, err := b.List(b.ctx(), Filter{Limit: maxPage})
	b.must(err)
	for _, rep := range page {
		records = append(records, b.get(rep.ID))
	}
	return records
}

// stocked returns a store with jobs in all states, an event and a value, and the folder of their files.
func stocked(t *testing.T, b backend) (s *bench, folder string) {
	folder = t.TempDir()
	s = b.open(t, nil)
	for i, id := range []string{"done", "cancelled", "running", "queued"} {
		program := addBlob(t, folder, "program of "+id)
		s.put(id, func(j *api.Job) {
			*j = api.Job{Program: *program, Tests: []api.Test{{Name: "1", Input: addBlob(t, folder, "input")}},
				Priority: api.Priorities()[i], Labels: map[string]string{"team": "ü \x00", "id": id}}
		})
	}
	rep := sampleReport(api.WrongAnswer)
	rep.Outputs = []api.Output{{Test: "1", Stream: api.StdoutStream, Blob: addBlob(t, folder, "output").Blob, Bytes: 6},
		{Test: "1", Stream: api.FileStream, Name: "out", Missing: true}}
	s.must(s.Finish(s.ctx(), s.take().Lease, rep))
	if diff := cmp.Diff(rep.Outputs, s.get("done").Report.Outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	_, err := s.Cancel(s.ctx(), "cancelled")
	s.must(err)
	running := s.take()
	s.must(s.Emit(running.Lease, 1, api.TestReport{Name: "1", Verdict: api.Accepted}))
	testkit.WaitFor(t, time.Minute, "the event", func() bool {
		var n int
		s.must(s.read.QueryRow(`SELECT COUNT(*) FROM events`).Scan(&n))
		return n == 1
	})
	s.must(s.SetValue(s.ctx(), map[string]int{"n": 1 << 60}, "a value"))
	return s, folder
}

func testBackup(t *testing.T, b backend) { testMove(t, b, b) }

// testMove checks that a restored database has everything that the original had, in either database, and works like it.
// The files of unfinished jobs are restored, other files are not.
func testMove(t *testing.T, from, to backend) {
	s, folder := stocked(t, from)
	_, _, err := s.PutProblem(s.ctx(), api.Problem{ID: "sum", Version: "1", Archive: addBlob(t, folder,
		"a package").Blob},
		Editor{})
	s.must(err)
	file := filepath.Join(t.TempDir(), "backup")
	written, err := Backup(s.ctx(), s.o, blobs.Attach(folder), file)
	s.must(err)
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("backup %v, %v", info, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); len(entries) != 1 || err != nil {
		t.Errorf("left next to the backup: %v, %v", entries, err)
	}
	if _, err := Backup(s.ctx(), s.o, blobs.Attach(folder), file); !errors.Is(err, os.ErrExist) {
		t.Errorf("a backup replaced another: %v", err)
	}
	want := Archive{Created: written.Created, Jobs: 4, Unfinished: 2, Blobs: 5}
	o, restored := to.fresh(t), filepath.Join(t.TempDir(), "blobs")
	o.Now = s.clock.now
	empty := reopen(t, o, s.clock) // like a daemon before its first job
	s.must(empty.SetValue(s.ctx(), "old", "a value"))
	s.must(empty.Close())
	read, err := Restore(s.ctx(), o, within(restored), file, unlocked)
	s.must(err)
	for name, got := range map[string]Archive{"written": written, "read": read} {
		got.schema, got.named = 0, nil
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Archive{})); diff != "" {
			t.Errorf("archive %s (-want +got):\n%s", name, diff)
		}
	}

	r := reopen(t, o, s.clock)
	if diff := cmp.Diff(dump(s), dump(r)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	page, _, err := r.List(s.ctx(), Filter{Label: map[string]string{"team": "ü \x00", "id": "done"}})
	if len(page) != 1 || err != nil {
		t.Errorf("by label: %v, %v", page, err)
	}
	var value map[string]int
	if found, err := r.Value(s.ctx(), &value, "a value"); !found || err != nil || value["n"] != 1<<60 {
		t.Errorf("value %v, %v, %v", value, found, err)
	}
	for e, err := range r.Events(s.ctx(), "running", number(1, 0)) {
		if s.must(err); label(e) != "1+1 test 1" {
			t.Errorf("event %s", label(e))
		}
		break
	}
	files := blobs.Attach(restored)
	for id, want := range map[string]bool{"done": false, "cancelled": false, "running": true, "queued": true} {
		if _, err := files.Stat(r.get(id).Job.Program.Blob); (err == nil) != want {
			t.Errorf("program of job %s: %v", id, err)
		}
	}
	if _, err := files.Stat(r.get("done").Report.Outputs[0].Blob); err != nil {
		t.Errorf("output of a done job: %v", err)
	}
	s.clock.advance(time.Hour)
	for _, id := range []string{"running", "queued"} {
		if w := r.take(); w.ID != id {
			t.Errorf("took %s, want %s", w.ID, id)
		}
	}
	r.put("new", nil) // its number follows those of the others
	if got := dump(r)[0].ID; got != "new" {
		t.Errorf("newest job %s", got)
	}
}

// testBackupUnderLoad checks that a backup made while jobs are put, run and finished is one snapshot: it has what was
// acknowledged before it began, jobs in the order of their creation without a gap, and each job with its labels.
func testBackupUnderLoad(t *testing.T, b backend) {
	s := b.open(t, nil)
	ctx, stop := context.WithCancel(s.ctx())
	defer stop()
	var mu sync.Mutex // guards the variables below
	stored, finished := 0, 0
	var work sync.WaitGroup
	work.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			s.put(fmt.Sprintf("job%06d", i), nil)
			mu.Lock()
			stored = i + 1
			mu.Unlock()
		}
	})
	for range 2 {
		work.Go(func() {
			for {
				w, err := s.Take(ctx, api.Want{})
				if err != nil {
					return
				}
				s.finish(w.Lease, api.Accepted)
				mu.Lock()
				finished++
				mu.Unlock()
			}
		})
	}
	defer work.Wait()
	defer stop()
	for round := range 3 {
		testkit.WaitFor(t, time.Minute, "more jobs",
			func() bool { mu.Lock(); defer mu.Unlock(); return finished > 30*(round+1) })
		mu.Lock()
		wantStored, wantFinished := stored, finished
		mu.Unlock()
		file := filepath.Join(t.TempDir(), "backup")
		written, err := Backup(s.ctx(), s.o, blobs.Attach(t.TempDir()), file)
		s.must(err)
		o := b.fresh(t)
		read, err := Restore(s.ctx(), o, within(t.TempDir()), file, unlocked)
		s.must(err)
		r := reopen(t, o, s.clock)
		var jobs, last, ended, labels int
		s.must(r.read.QueryRow(`SELECT COUNT(*), CAST(MAX(SUBSTR(id, 4)) AS INTEGER),
SUM(CASE state WHEN 2 THEN 1 ELSE 0 END), (SELECT COUNT(*) FROM labels) FROM jobs`).Scan(&jobs, &last, &ended, &labels))
		if jobs < wantStored || jobs != last+1 || ended < wantFinished || labels != jobs*len(sampleJob().Labels) {
			t.Errorf("%d jobs up to number %d, %d ended, %d labels; %d were stored and %d ended before", jobs, last,
				ended, labels, wantStored, wantFinished)
		}
		if written.Jobs != jobs || read.Jobs != jobs || written.Unfinished != jobs-ended {
			t.Errorf("written %d jobs, %d unfinished, read %d; there are %d, %d unfinished", written.Jobs,
				written.Unfinished, read.Jobs, jobs, jobs-ended)
		}
		if want := len(filesOf(sampleJob())); jobs > ended && len(read.Missing) != want {
			t.Errorf("%d missing files, want %d", len(read.Missing), want)
		}
	}
}

func filesOf(j api.Job) map[string]bool {
	named := map[string]bool{j.Program.Blob: true}
	for _, f := range j.Files {
		named[f.Blob] = true
	}
	for _, t := range j.Tests {
		named[t.Input.Blob] = true
		if t.Answer != nil {
			named[t.Answer.Blob] = true
		}
	}
	return named
}

// edited returns the archive with one entry replaced by the result of edit.
func edited(t *testing.T, data []byte, name string, edit func(*tar.Header, []byte) []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	in, w := tar.NewReader(bytes.NewReader(data)), tar.NewWriter(&out)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(h.Name, name) {
			if content = edit(h, content); content == nil {
				continue
			}
			h.Size = int64(len(content))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// resummed returns the archive with the correct checksum of its contents.
func resummed(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	in, w := tar.NewReader(bytes.NewReader(data)), newArchiveWriter(&out, time.Unix(0, 0))
	for {
		h, err := in.Next()
		if err == nil && h.Name == checksumEntry {
			err = w.finish()
			if err == nil {
				return out.Bytes()
			}
		}
		if err == nil {
			err = w.add(h.Name, h.Size, in)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unlocked() (io.Closer, error) { return io.NopCloser(nil), nil }

// testRestoreRefused checks that any error in a backup or its target is found before anything changes.
func testRestoreRefused(t *testing.T, b backend) {
	s, folder := stocked(t, b)
	file := filepath.Join(t.TempDir(), "backup")
	_, err := Backup(s.ctx(), s.o, blobs.Attach(folder), file)
	s.must(err)
	good, err := os.ReadFile(file)
	s.must(err)
	replace := func(name, old, now string) []byte {
		return edited(t, good, name, func(_ *tar.Header, content []byte) []byte {
			return bytes.Replace(content, []byte(old), []byte(now), 1)
		})
	}
	damaged := map[string][]byte{
		"empty":              {},
		"text":               bytes.Repeat([]byte("text "), 1000),
		"half":               good[:len(good)/2],
		"whole entries only": edited(t, good, checksumEntry, func(*tar.Header, []byte) []byte { return nil }),
		"without the jobs":   edited(t, good, rowsFolder+"jobs", func(*tar.Header, []byte) []byte { return nil }),
		"without a file":     edited(t, good, blobsFolder, func(*tar.Header, []byte) []byte { return nil }),
		"another verdict":    replace(rowsFolder+"jobs", `"WA"`, `"AC"`),
		"another file":       replace(blobsFolder, "program", "PROGRAM"),
		"more at the end": edited(t, good, checksumEntry,
			func(_ *tar.Header, c []byte) []byte { return append(c, 'x') }),
	}
	schema := fmt.Sprintf(`"schema":%d`, len(migrations))
	// With a correct checksum.
	for name, data := range map[string][]byte{
		"renamed file": edited(t, good, blobsFolder,
			func(h *tar.Header, c []byte) []byte { h.Name = blobsFolder + "../../x"; return c }),
		"another table": edited(t, good, rowsFolder+"labels",
			func(h *tar.Header, c []byte) []byte { h.Name = rowsFolder + "judged_schema/1.json"; return c }),
		"statement as column":  replace(rowsFolder+"labels", `"label"`, `"label) VALUES (1); DROP TABLE jobs; --"`),
		"fewer values":         replace(rowsFolder+"labels", `"columns":[`, `"columns":["more",`),
		"strange value":        replace(rowsFolder+"labels", `"rows":[[[`, `"rows":[[[1,`),
		"jobs without a state": replace(rowsFolder+"jobs", `"state"`, `"other"`),
		"newer format":         replace(headerEntry, `"format":1`, `"format":2`),
		"newer schema":         replace(headerEntry, schema, `"schema":99`),
		"no schema":            replace(headerEntry, schema, `"schema":-1`),
		"another digest":       replace(blobsFolder, "program", "PROGRAM"),
		"without a header":     edited(t, good, headerEntry, func(*tar.Header, []byte) []byte { return nil }),
		"unknown entry": edited(t, good, rowsFolder+"key_value",
			func(h *tar.Header, c []byte) []byte { h.Name = "more"; return c }),
	} {
		damaged[name] = resummed(t, data)
	}
	for name, data := range damaged {
		if bytes.Equal(data, good) {
			t.Fatalf("%s: the backup was not changed", name)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		o, into := b.fresh(t), filepath.Join(t.TempDir(), "blobs")
		if _, err := Restore(s.ctx(), o, within(into), file, unlocked); !errors.Is(err, ErrBadBackup) {
			t.Errorf("%s: got error %v, want %v", name, err, ErrBadBackup)
		} else if cut := name == "half" || name == "whole entries only"; cut &&
			!strings.Contains(err.Error(), "truncated") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(into); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder of files was touched: %v", name, err)
		}
		if _, err := os.Lstat(o.File); o.File != "" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the database was touched: %v", name, err)
		}
		if n := countJobs(t, o); n != 0 {
			t.Errorf("%s: %d jobs", name, n)
		}
	}

	if err := os.WriteFile(file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	before := dump(s)
	wantRefusal := func(o Options, text string) {
		t.Helper()
		_, err := Restore(s.ctx(), o, within(folder), file, unlocked)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got error %v, want one with %q", err, text)
		}
	}
	if s.driver.users != "" {
		testkit.WaitFor(t, time.Minute, "the store to listen", func() bool {
			var n int
			s.must(s.read.QueryRow(s.driver.users).Scan(&n))
			return n == 1
		})
	}
	wantRefusal(s.o, "stop") // the database is in use
	if diff := cmp.Diff(before, dump(s)); diff != "" {
		t.Errorf("a refused restore changed the database (-want +got):\n%s", diff)
	}
	o := b.fresh(t)
	for range 2 { // the second restore finds jobs
		_, err = Restore(s.ctx(), o, within(folder), file, unlocked)
		if errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "4 jobs") {
		t.Errorf("restored twice: %v", err)
	}
	newer, err := open(t.Context(), b.fresh(t), later(`CREATE TABLE tenants (name TEXT PRIMARY KEY);`))
	s.must(err)
	if _, err := Backup(s.ctx(), newer.opts, blobs.Attach(folder), file+"2"); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("version %d", len(migrations)+1)) {
		t.Errorf("backed up a newer schema: %v", err)
	}
	s.must(newer.Close())
	wantRefusal(newer.opts, "newer schema")
	none := Options{File: filepath.Join(t.TempDir(), "none")}
	if _, err := Backup(s.ctx(), none, blobs.Attach(folder), file+"2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("backed up no database: %v", err)
	}
}

// TestBackupWithoutFiles checks that lost or damaged files do not prevent a backup, and that it reports them.
func TestBackupWithoutFiles(t *testing.T) {
	s, folder := stocked(t, sqliteBackend())
	running, queued := s.get("running").Job.Program.Blob, s.get("queued").Job.Program.Blob
	s.must(os.Remove(filepath.Join(folder, running[:2], running)))
	s.must(os.WriteFile(filepath.Join(folder, queued[:2], queued), []byte("damaged"), 0o600))
	file := filepath.Join(t.TempDir(), "backup")
	want := []string{queued, running}
	slices.Sort(want)
	written, err := Backup(s.ctx(), s.o, blobs.Attach(folder), file)
	s.must(err)
	read, err := Restore(s.ctx(), sqliteBackend().fresh(t), within(t.TempDir()), file, unlocked)
	s.must(err)
	for _, a := range []Archive{written, read} {
		if diff := cmp.Diff(want, a.Missing); diff != "" || a.Blobs != 2 {
			t.Errorf("%d files, missing (-want +got):\n%s", a.Blobs, diff)
		}
	}
}

// TestBackupInterrupted checks that a backup that fails leaves nothing behind, and that the remains of a killed one do
// not prevent the next.
func TestBackupInterrupted(t *testing.T) {
	s, folder := stocked(t, sqliteBackend())
	dir := t.TempDir()
	file := filepath.Join(dir, "backup")
	ctx, cancel := context.WithCancel(s.ctx())
	cancel()
	if _, err := Backup(ctx, s.o, blobs.Attach(folder), file); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 0 || err != nil {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	s.must(os.WriteFile(file+".partial", bytes.Repeat([]byte("x"), 1<<20), 0o600))
	_, err := Backup(s.ctx(), s.o, blobs.Attach(folder), file)
	s.must(err)
	_, err = verifyArchive(s.ctx(), file)
	s.must(err)
	if info, err := os.Stat(file); err != nil || info.Size() >= 1<<20 {
		t.Errorf("backup %v, %v", info, err)
	}
	if _, err := Restore(ctx, sqliteBackend().fresh(t), within(t.TempDir()), file, unlocked); !errors.Is(err,
		context.Canceled) {
		t.Errorf("restore: got error %v", err)
	}
}

// TestBackupOfLargeJobs checks that a backup holds only a few jobs in memory at a time, however large they are.
func TestBackupOfLargeJobs(t *testing.T) {
	s := sqliteBackend().open(t, nil)
	noise := make([]byte, batchBytes)
	_, _ = rand.Read(noise)
	for i := range 3 {
		s.put(fmt.Sprint("job", i), func(j *api.Job) { j.Command = []string{hex.EncodeToString(noise)} })
	}
	var out bytes.Buffer
	if _, err := s.archive(s.ctx(), blobs.Attach(t.TempDir()), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for in := tar.NewReader(&out); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		s.must(err)
		if strings.HasPrefix(h.Name, rowsFolder+"jobs") {
			got = append(got, h.Name)
		}
	}
	want := []string{"database/jobs/00000001.json", "database/jobs/00000002.json", "database/jobs/00000003.json"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries of jobs (-want +got):\n%s", diff)
	}
}

// restoreEnv makes the test binary a process that restores. Its value is the
// database, the folder of blobs and the backup.
const restoreEnv = "JUDGED_JOBS_TEST_RESTORE"

func restoreChild(arguments string) int {
	f := strings.Fields(arguments)
	_, err := Restore(context.Background(), childOptions(f[0]), within(f[1]), f[2], unlocked)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// testRestoreKilled checks that a restore killed at any moment has restored all jobs or none, and does not prevent the
// next one.
func testRestoreKilled(t *testing.T, b backend) {
	testkit.Need(t, testkit.Time)
	const many = 5000
	s := b.open(t, nil)
	seed(t, s.Store, many, 0)
	file := filepath.Join(t.TempDir(), "backup")
	_, err := Backup(s.ctx(), s.o, blobs.Attach(t.TempDir()), file)
	s.must(err)
	o, folder := b.fresh(t), t.TempDir()
	command := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), restoreEnv+"="+strings.Join([]string{o.URL + o.File, folder, file}, " "))
		return cmd
	}
	start := time.Now()
	killed := 0
	for delay := 20 * time.Millisecond; ; delay += delay / 2 {
		cmd := command()
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		s.must(cmd.Start())
		timer := time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		n := countJobs(t, o)
		if n == many {
			break
		}
		if n != 0 || err == nil || cmd.ProcessState.Exited() {
			t.Fatalf("%d of %d jobs after %v: %v, %s", n, many, delay, err, &out)
		}
		killed++
	}
	if killed == 0 {
		t.Errorf("no restore was killed within %v", time.Since(start))
	}
	t.Logf("%d restores were killed", killed)
}

// countJobs counts jobs without creating the schema. It returns 0 if there is no schema.
func countJobs(t *testing.T, o Options) (n int) {
	t.Helper()
	s, err := connect(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_ = s.read.QueryRow(`SELECT COUNT(*) FROM jobs`).Scan(&n)
	return n
}

// testArchivedTables checks that the backup includes every table of the schema.
func testArchivedTables(t *testing.T, b backend) {
	s := b.open(t, nil)
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	if s.driver.listen != nil {
		query = `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`
	}
	rows, err := s.read.Query(query)
	s.must(err)
	var got []string
	for rows.Next() {
		var name string
		s.must(rows.Scan(&name))
		got = append(got, name)
	}
	s.must(rows.Close())
	want := append([]string{"judged_schema"}, archivedTables(len(migrations))...)
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables of the schema (-archived +schema):\n%s", diff)
	}
}

// FuzzArchive checks that any content of a file yields an error or a backup, never a panic.
func FuzzArchive(f *testing.F) {
	var out bytes.Buffer
	w := newArchiveWriter(&out, time.Unix(0, 0))
	if err := errors.Join(w.addJSON(headerEntry, archiveHeader{Format: archiveFormat, Schema: 1}),
		w.addJSON(rowsFolder+"jobs/1.json", batch{Columns: []string{"id", "state", "job"},
			Rows: [][]any{{"a", 2, []string{""}}}}), w.finish()); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "backup")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = verifyArchive(t.Context(), file)
	})
}

// within opens a folder of blobs for Restore.
func within(folder string) func() (Files, error) {
	return func() (Files, error) { return blobs.Open(folder, 0) }
}
