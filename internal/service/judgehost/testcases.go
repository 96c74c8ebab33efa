package judgehost

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"judged/internal/base/text"
)

// The names of files of a test case in the protocol.
const (
	inputFile  = "input"
	outputFile = "output"
)

// maxTestcase is the maximum size of a response with a test case in bytes.
const maxTestcase = 16 << 30

// bothHashes matches the hash of a test case in known versions of the server: two MD5 sums. Other hashes are used as
// keys only.
var bothHashes = text.Pattern(`^([0-9a-f]{32})_([0-9a-f]{32})$`)

// testcase fetches a test case. The returned folder has the files input and output.
func (s *Service) testcase(ctx context.Context, id, hash stringOrNumber) (held, error) {
	h, err := s.store.get(ctx, testcaseKey(id, hash), func(ctx context.Context, folder string) error {
		return s.fetchTestcase(ctx, folder, id, hash)
	})
	if err != nil {
		err = blame(faultTestcase, id, fmt.Errorf("fetch test case %s: %w", id, err))
	}
	return h, err
}

func testcaseKey(id, hash stringOrNumber) string { return fmt.Sprintf("testcase %s %s", id, hash) }

func (s *Service) fetchTestcase(ctx context.Context, folder string, id, hash stringOrNumber) error {
	return s.client.do(ctx, request{method: "GET", path: "judgehosts/get_files/testcase/" + string(id),
		limit: maxTestcase, take: func(in io.Reader) error {
			sums, err := writeFiles(in, folder)
			if err != nil {
				return err
			}
			want := bothHashes().FindStringSubmatch(string(hash))
			for i, name := range []string{inputFile, outputFile} {
				f, ok := sums[name]
				switch {
				case !ok:
					return &contentError{fmt.Errorf("file %q is missing", name)}
				case want != nil && f.md5 != want[i+1]:
					return &contentError{fmt.Errorf("%s has the MD5 sum %s; the task says %s", name, f.md5, want[i+1])}
				}
			}
			return nil
		}})
}

// written is a file that was received from the server.
type written struct {
	file
	md5 string
}

// writeFiles writes the files of a response to a folder, replaces its contents, and returns the files by name.
func writeFiles(in io.Reader, folder string) (map[string]written, error) {
	sums := map[string]written{}
	if err := empty(folder); err != nil {
		return nil, err
	}
	temporary := filepath.Join(folder, ".part")
	var sum *hashed
	err := readFiles(in, func(int) (_ io.WriteCloser, err error) {
		sum, err = newHashed(temporary, md5.New())
		return sum, err
	}, func(_ int, f file) error {
		if err := checkName(f.Name); err != nil {
			return err
		}
		if _, twice := sums[f.Name]; twice {
			return &contentError{fmt.Errorf("duplicate file %q", f.Name)}
		}
		mode := os.FileMode(0o600)
		if f.Exec {
			mode = 0o700
		}
		sums[f.Name] = written{f, sum.String()}
		return errors.Join(os.Chmod(temporary, mode), os.Rename(temporary, filepath.Join(folder, f.Name)))
	})
	return sums, err
}

// checkName returns an error for a name that leads outside of the folder.
func checkName(name string) error {
	if !filepath.IsLocal(name) || filepath.Base(name) != name || name == "." || name == ".part" || len(name) > 255 ||
		strings.ContainsRune(name, 0) {
		return &contentError{fmt.Errorf("invalid file name %q", name)}
	}
	return nil
}

func empty(folder string) error {
	list, err := os.ReadDir(folder)
	for _, d := range list {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, d.Name())))
	}
	return err
}

// hashed is a file that computes its hash while it is written.
type hashed struct {
	file *os.File // not embedded: its ReadFrom would bypass the sum
	sum  hash.Hash
}

func newHashed(path string, sum hash.Hash) (*hashed, error) {
	f, err := os.Create(path)
	return &hashed{f, sum}, err
}

func (h *hashed) Write(b []byte) (int, error) {
	n, err := h.file.Write(b)
	_, _ = h.sum.Write(b[:n]) // never fails
	return n, err
}

// Close syncs the file, because the store keeps it across restarts.
func (h *hashed) Close() error { return errors.Join(h.file.Sync(), h.file.Close()) }

func (h *hashed) String() string { return hex.EncodeToString(h.sum.Sum(nil)) }
