package judgehost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"judged/internal/base/diskcache"
	"judged/internal/base/linux"
)

// store has test cases, executables and compiled submissions. All slots share it.
type store struct{ *diskcache.Cache }

// held is a folder of the store that is not removed before it is released.
type held = diskcache.Held

// get returns the folder for a key, and has it filled and made durable if it does not exist.
func (s store) get(ctx context.Context, key string, fill func(ctx context.Context, folder string) error) (held, error) {
	return s.Get(ctx, entryName(key), func(ctx context.Context, folder string) error {
		if err := fill(ctx, folder); err != nil {
			return err
		}
		f, err := os.Open(folder)
		if err == nil {
			err = errors.Join(linux.SyncFileSystem(f), f.Close())
		}
		if err != nil {
			return fmt.Errorf("write to the cache: %w", err)
		}
		return nil
	})
}

func entryName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// has reports whether there is a folder for a key.
func (s store) has(key string) bool { return s.Has(entryName(key)) }
