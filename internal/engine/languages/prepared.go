package languages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"judged/internal/api"
	"judged/internal/base/diskcache"
	"judged/internal/base/linux"
	"judged/internal/sandbox"
)

const (
	// preparedFolder is the folder of the cache with a folder for each language that has a prepare command. Compilers
	// see it as sandbox.PreparedPath.
	preparedFolder = "prepared"
	// noPrepared is where commands write what they would find prepared: prepare has not run, or is not needed.
	noPrepared = "/tmp/prepared"
)

// PreparedFolder creates the folder that compilers see as sandbox.PreparedPath, and returns its path.
func PreparedFolder(cache string) (string, error) {
	path := filepath.Join(cache, preparedFolder)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", fmt.Errorf("create the folder of prepared files: %w", err)
	}
	return path, os.Chmod(path, 0o755) // regardless of the umask
}

// prepared returns the folder in which compilers of a language find what its prepare command has written. It runs the
// command once for each version of the compiler; in a temporary folder, before the second compilation.
func (c *Compiler) prepared(ctx context.Context, l Language, version string) (string, error) {
	if len(l.Prepare) == 0 {
		return noPrepared, nil
	}
	command := append([]string{version, l.identity()}, l.withEnvironment(l.Prepare, "")...)
	digest := sha256.Sum256([]byte(strings.Join(command, "\x00")))
	name := hex.EncodeToString(digest[:16])
	folder := filepath.Join(c.options.Folder, preparedFolder, l.ID)
	c.preparing.Lock()
	defer c.preparing.Unlock()
	if c.options.Temporary && !c.compiled[l.ID] {
		c.compiled[l.ID] = true
		return noPrepared, nil
	}
	if _, err := os.Stat(filepath.Join(folder, name)); errors.Is(err, fs.ErrNotExist) {
		if err := c.prepare(ctx, l, folder, name); err != nil {
			return "", fmt.Errorf("prepare %s: %w", l.Name, err)
		}
	}
	return filepath.Join(sandbox.PreparedPath, l.ID, name), nil
}

// prepare runs the prepare command of a language, and replaces what earlier ones have left in a folder.
func (c *Compiler) prepare(ctx context.Context, l Language, folder, name string) error {
	box, err := c.launcher.Prepare(c.slot)
	if err != nil {
		return err
	}
	err = c.prepareIn(ctx, box, l, folder, name)
	return errors.Join(err, box.Close())
}

func (c *Compiler) prepareIn(ctx context.Context, box *sandbox.Sandbox, l Language, folder, name string) error {
	result, err := run(ctx, box, sandbox.Spec{Args: l.withEnvironment(l.Prepare, "/box/"+outputFolder),
		Folder: outputFolder, Limits: l.limits, Explained: sandbox.WaitingExplains})
	if err != nil {
		return err
	}
	said, _, err := messages(box)
	if err != nil {
		return err
	}
	reason, _ := failure(result, l.limits)
	if result.ExecError != 0 {
		reason = result.ExecError.Error()
	}
	if reason != "" {
		return api.Blame(api.HostFault, fmt.Errorf("run %q: %s: %.500q; correct prepare of the language",
			strings.Join(l.Prepare, " "), reason, said))
	}
	dir, err := box.OpenFolder(outputFolder)
	if err != nil || dir == nil {
		return errors.Join(err, api.Blame(api.HostFault, errors.New("the command removed its folder")))
	}
	defer dir.Close()
	return storePrepared(dir, folder, name)
}

// storePrepared copies a folder into another one under a name, and removes what else is there. The copy appears as a
// whole, also after a power loss: a compiler would not notice that a file is torn.
func storePrepared(dir *os.File, folder, name string) error {
	from, err := rootOf(dir)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o755), os.Chmod(folder, 0o755)); err != nil {
		return err
	}
	copied := filepath.Join(folder, diskcache.Unfinished+name)
	if err := os.CopyFS(copied, from.FS()); err != nil {
		return err
	}
	if err := filepath.WalkDir(copied, readable); err != nil {
		return err
	}
	to, err := os.Open(copied)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := linux.SyncFileSystem(to); err != nil {
		return err
	}
	return os.Rename(copied, filepath.Join(folder, name))
}

// readable lets the users of sandboxes read a file or a folder, regardless of the umask of judged.
func readable(path string, e fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if e.IsDir() {
		return os.Chmod(path, 0o755)
	}
	return os.Chmod(path, 0o644)
}
