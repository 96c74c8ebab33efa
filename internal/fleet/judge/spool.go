package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"judged/internal/api"
	"judged/internal/base/linux"
)

// spool is a folder with one file for each report that no front has received.
type spool struct{ dir string }

const (
	spooled  = ".json"
	unusable = ".unusable" // was spooled, but cannot be read
	// unfinished is the prefix of the names of files that are being written.
	unfinished = "new-"
)

func openSpool(dir string) (spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return spool{}, fmt.Errorf("create spool: %w; give judged write access to data_dir", err)
	}
	s := spool{dir}
	if err := linux.RemoveUnfinished(dir, unfinished); err != nil {
		return s, fmt.Errorf("clean spool: %w; give judged write access to data_dir", err)
	}
	return s, nil
}

// path returns the file of an attempt, whose ID Take has checked.
func (s spool) path(h api.Hold) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s.%d%s", h.ID, h.Attempt, spooled))
}

// store stores a report durably, once.
func (s spool) store(q api.FinishRequest) error {
	path := s.path(q.Hold)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	data, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("encode the report of job %q: %w", q.ID, err)
	}
	err = linux.ReplaceFile(path, unfinished, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("spool the report of job %q: %w; free disk space there", q.ID, err)
	}
	return nil
}

// remove deletes a report that was sent.
func (s spool) remove(h api.Hold) error {
	if err := os.Remove(s.path(h)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete a spooled report: %w", err)
	}
	return nil
}

// names returns the names of the spooled reports.
func (s spool) names() (names []string, err error) {
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), spooled) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// read reads a spooled report. An error other than fs.ErrNotExist is permanent.
func (s spool) read(name string, known api.Protocols) (q api.FinishRequest, err error) {
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return q, err
	}
	switch err := json.Unmarshal(data, &q); {
	case err != nil:
		return q, fmt.Errorf("decode spooled report %q: %w", name, err)
	case q.Protocol > known.Newest:
		return q, fmt.Errorf("decode spooled report %q: version %d of the node protocol, known is %d", name, q.Protocol,
			known.Newest)
	case filepath.Base(s.path(q.Hold)) != name: // the file of its attempt is deleted later
		return q, fmt.Errorf("decode spooled report %q: it is that of attempt %d at job %q", name, q.Attempt, q.ID)
	}
	return q, nil
}

// setAside renames a file so that it is not read again.
func (s spool) setAside(name string) (path string, err error) {
	path = filepath.Join(s.dir, strings.TrimSuffix(name, spooled)+unusable)
	return path, os.Rename(filepath.Join(s.dir, name), path)
}
