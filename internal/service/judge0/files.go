package judge0

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"judged/internal/base/units"
	"judged/internal/engine/problem"
)

// maxEntries is the maximum number of entries in a zip file.
const maxEntries = 1000

// unzip returns the files of a zip file by name. As in Judge0, empty folders are ignored, and of several files with one
// name the first is used.
func unzip(content []byte) (map[string][]byte, error) {
	archive, err := problem.OpenZIP(bytes.NewReader(content), int64(len(content)), maxEntries)
	if errors.Is(err, problem.ErrEntries) {
		return nil, fmt.Errorf("has %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("is not a zip file: %w", err)
	}
	files := map[string][]byte{}
	left := maxExtracted
	for _, entry := range archive.File {
		if strings.HasSuffix(entry.Name, "/") {
			continue
		}
		name := path.Clean(entry.Name)
		if !fs.ValidPath(name) || strings.ContainsAny(entry.Name, "\\\x00") {
			return nil, fmt.Errorf("has %.70q, which is not a path within the working directory", entry.Name)
		}
		if !entry.Mode().IsRegular() {
			return nil, fmt.Errorf("has %.70q, which is not a regular file", entry.Name)
		}
		text, err := extract(entry, left)
		if err != nil {
			return nil, err
		}
		left -= units.Bytes(len(text))
		if _, twice := files[name]; !twice {
			files[name] = text
		}
	}
	return files, nil
}

// extract returns a file of at most that size. It does not trust the size in the zip file.
func extract(entry *zip.File, most units.Bytes) ([]byte, error) {
	r, err := entry.Open()
	if err != nil {
		return nil, fmt.Errorf("has %.70q, which cannot be read: %w", entry.Name, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, fmt.Errorf("has %.70q, which cannot be read: %w", entry.Name, err)
	}
	if units.Bytes(len(text)) > most {
		return nil, fmt.Errorf("has more than %d kB unpacked", int64(maxExtracted/kib))
	}
	return text, nil
}
