package blobs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"judged/internal/base/linux"
)

// identityFile is the file in a shared folder that holds its identity. A folder without it may be the empty mount point
// of an unmounted file system: files written there would be missing for other fronts, and later for this one.
const identityFile = ".judged-blobs"

// Identify returns the identity of a shared folder. known is the identity that the database records, or "" if it
// records none; then a folder without an identity gets one. Otherwise a missing or different identity is an error.
func Identify(dir, known string) (string, error) {
	file := filepath.Join(dir, identityFile)
	found, err := readIdentity(file)
	if errors.Is(err, fs.ErrNotExist) && known == "" {
		if err := createIdentity(dir, file); err != nil {
			return "", fmt.Errorf("mark blob folder %q: %w; give judged write access to it", dir, err)
		}
		found, err = readIdentity(file) // the first front's identity
	}
	next := fmt.Sprintf("mount the file system that has the blobs; if this is to be a new folder, write %s into %s",
		known, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("use blob folder %q: it is not the one that this database knows: %w; %s", dir, err, next)
	case err != nil:
		return "", fmt.Errorf("read the identity of blob folder %q: %w; give judged read access to it", dir, err)
	case known != "" && found != known:
		return "", fmt.Errorf("use blob folder %q: it is %s, and this database knows it as %s; %s", dir, found, known,
			next)
	}
	return found, nil
}

// CheckMounted returns an error for a shared folder without an identity, for which no database is needed.
func CheckMounted(dir string) error {
	if _, err := readIdentity(filepath.Join(dir, identityFile)); err != nil {
		return fmt.Errorf("use blob folder %q: %w; mount the file system that has the blobs, or if the folder is new, "+
			"start judged once with an empty database", dir, err)
	}
	return nil
}

func readIdentity(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(data))
	if id == "" {
		return "", fmt.Errorf("%q is empty", file)
	}
	return id, nil
}

// createIdentity keeps an identity that another process has created meanwhile.
func createIdentity(dir, file string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, identityFile+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintln(f, rand.Text())
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return linux.SyncDir(dir)
}
