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

// identityFile is in a shared folder and holds its identity. A folder without it may be the
// empty mount point of a file system that is not mounted: what is written there would be
// missing for other fronts, and later for this one.
const identityFile = ".judged-blobs"

// Identify returns the identity of a shared folder. known is the one that the database has
// of it, "" for none: then a folder without an identity gets one. Otherwise another identity,
// or none, is an error.
func Identify(dir, known string) (string, error) {
	file := filepath.Join(dir, identityFile)
	found, err := readIdentity(file)
	if errors.Is(err, fs.ErrNotExist) && known == "" {
		if err := createIdentity(dir, file); err != nil {
			return "", fmt.Errorf("mark blob folder %q: %w; give judged write access to it", dir, err)
		}
		found, err = readIdentity(file) // that of the front that was first
	}
	next := fmt.Sprintf("mount the file system that has the blobs; if this is to be a new folder, write %s into %s",
		known,
		file)
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

// createIdentity leaves an identity that another process has created meanwhile.
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
