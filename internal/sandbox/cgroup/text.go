package cgroup

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
)

func write(path, value string) error {
	f, err := linux.Open(path, os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func readInt(path string) (int64, error) {
	b, err := hostfs.FS{}.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

// findKey returns one value of "key value" lines, or nil.
func findKey(text, key string) *int64 {
	for line := range strings.Lines(text) {
		if k, v, _ := strings.Cut(strings.TrimSpace(line), " "); k == key {
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				return &n
			}
		}
	}
	return nil
}

// parseKey returns one value of "key value" lines; a missing key is 0.
func parseKey(text, key string) (int64, error) {
	for line := range strings.Lines(text) {
		if k, v, _ := strings.Cut(strings.TrimSpace(line), " "); k == key {
			return strconv.ParseInt(v, 10, 64)
		}
	}
	return 0, nil
}

func readIDs(path string) ([]int, error) {
	b, err := hostfs.FS{}.ReadFile(path)
	if err != nil {
		return nil, err
	}
	ids, err := parseIDs(string(b))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return ids, nil
}

func parseIDs(text string) ([]int, error) {
	var ids []int
	for field := range strings.FieldsSeq(text) {
		id, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
