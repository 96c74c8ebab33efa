package problem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"judged/internal/base/units"
)

// copier copies files of a folder. It opens each file only once, and copies at most as many bytes as an archive may
// contain.
type copier struct {
	ctx  context.Context // stops the copying
	from origin
	left units.Bytes
}

func newCopier(ctx context.Context, from origin) *copier { return &copier{ctx, from, MaxUnpacked} }

// copy copies a file to a path that does not exist, and to hash. Either may be omitted ("" or nil).
func (c *copier) copy(name, path string, hash io.Writer) error {
	src, err := c.from.open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is neither a file nor a link to one; remove it", name)
	case units.Bytes(info.Size()) > c.left:
		return c.tooMuch()
	}
	from := io.LimitReader(untilDone{c.ctx, src}, int64(c.left)+1)
	if hash != nil {
		from = io.TeeReader(from, hash)
	}
	dst, err := createCopy(path, info.Mode())
	if err != nil {
		return err
	}
	n, err := io.Copy(dst, from)
	if c.left -= units.Bytes(n); err == nil && c.left < 0 {
		err = c.tooMuch()
	}
	return errors.Join(err, dst.Close())
}

func createCopy(path string, mode os.FileMode) (io.WriteCloser, error) {
	if path == "" {
		return discard{io.Discard}, nil
	}
	if mode&0o111 != 0 {
		return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

func (c *copier) tooMuch() error {
	return fmt.Errorf("more than %s; remove files that are not part of the problem", MaxUnpacked)
}
