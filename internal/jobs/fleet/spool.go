package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// spool is a folder with one file for each report that no front has received.
type spool struct{ dir string }

const spooled = ".json"

func openSpool(dir string) (spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return spool{}, fmt.Errorf("create spool: %w; give judged write access to data_dir", err)
	}
	return spool{dir}, nil
}

// path is the file of an attempt. The front has checked the ID: jobs.ValidID.
func (s spool) path(h Hold) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s.%d%s", h.ID, h.Attempt, spooled))
}

// keep stores a report durably, once.
func (s spool) keep(q FinishRequest) error {
	path := s.path(q.Hold)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	data, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("encode the report of job %q: %w", q.ID, err)
	}
	if err := s.write(path, data); err != nil {
		return fmt.Errorf("spool the report of job %q: %w; free disk space there", q.ID, err)
	}
	return nil
}

// write makes the content durable before the name.
func (s spool) write(path string, data []byte) error {
	f, err := os.CreateTemp(s.dir, "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // nothing is left to remove after the rename
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// drop deletes a report that was handed in.
func (s spool) drop(h Hold) error {
	if err := os.Remove(s.path(h)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete a spooled report: %w", err)
	}
	return nil
}

// reports reads all spooled reports. The error names those that cannot be read; they
// stay.
func (s spool) reports() (all []FinishRequest, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), spooled) {
			continue
		}
		var q FinishRequest
		data, failed := os.ReadFile(filepath.Join(s.dir, e.Name()))
		if failed == nil {
			failed = json.Unmarshal(data, &q)
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("read spooled report %q: %w", e.Name(), failed))
			continue
		}
		all = append(all, q)
	}
	return all, err
}
