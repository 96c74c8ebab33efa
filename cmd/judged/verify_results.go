package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/linux"
)

// results keeps the reports of earlier verifications in a folder, so that what has not changed is not judged again.
type results struct {
	folder string // "" keeps nothing
	fresh  bool   // use no earlier report

	mu      sync.Mutex        // guards the fields below
	digests map[string]string // of files, by path
	reused  map[string]bool   // keys
}

// resultAge is how long reports are kept.
const resultAge = 30 * 24 * time.Hour

// openResults opens the folder and removes reports that nobody needed for long.
func openResults(folder string, fresh bool) (*results, error) {
	r := &results{folder: folder, fresh: fresh, digests: map[string]string{}, reused: map[string]bool{}}
	if folder == "" {
		return r, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("keep results: %w", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("keep results: %w", err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > resultAge {
			_ = os.Remove(filepath.Join(folder, e.Name())) // it is tried again next time
		}
	}
	return r, nil
}

// key is the digest of all that a report depends on: the job with the content of its files, and what else is given, such
// as the host and the compilers.
func (r *results) key(j api.Job, more ...any) (string, error) {
	j, err := j.MapFiles(func(_ string, f api.File) (api.File, error) {
		digest, err := r.digest(f.Part)
		return api.File{Blob: digest}, err
	})
	if err != nil {
		return "", fmt.Errorf("read the files of a job: %w", err)
	}
	sum := sha256.New()
	for _, x := range append([]any{j}, more...) {
		if err := json.NewEncoder(sum).Encode(x); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// digest is the SHA-256 digest of a file. The files of a package do not change while it is open.
func (r *results) digest(path string) (string, error) {
	r.mu.Lock()
	known, ok := r.digests[path]
	r.mu.Unlock()
	if ok {
		return known, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.digests[path] = digest
	return digest, nil
}

// get returns an earlier report. A report that cannot be read does not count.
func (r *results) get(key string) (api.Report, bool) {
	if r.folder == "" || r.fresh {
		return api.Report{}, false
	}
	path := filepath.Join(r.folder, key+".json")
	text, err := os.ReadFile(path)
	report := api.Report{}
	if err != nil || json.Unmarshal(text, &report) != nil || !isResult(report) {
		return api.Report{}, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // an older time only makes it go earlier
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reused[key] = true
	return report, true
}

// count is the number of results that were used again.
func (r *results) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.reused)
}

// isResult reports whether a report says what the submission does: all tests have ended, and nothing of judged's or of
// the jury's failed.
func isResult(r api.Report) bool {
	return r.State == api.Done && r.Verdict != "" && r.Verdict != api.InternalError && len(r.Tests) > 0
}

// put keeps a report. The file appears whole or not at all.
func (r *results) put(key string, report api.Report) error {
	if r.folder == "" || !isResult(report) {
		return nil
	}
	text, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	err = linux.ReplaceFile(filepath.Join(r.folder, key+".json"), "new-", func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	return nil
}
