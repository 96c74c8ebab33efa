package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"judged/internal/base/config"
	"judged/internal/jobs"
)

// database names the database of a configuration.
func database(c config.Config) jobs.Options {
	return jobs.Options{URL: c.Database.URL, File: filepath.Join(c.DataDir, "judged.db")}
}

func blobFolder(c config.Config) string { return filepath.Join(c.DataDir, "blobs") }

// Backup writes the jobs of a configuration to file, whether its daemon runs or not.
func Backup(ctx context.Context, c config.Config, file string) (jobs.Archive, error) {
	return jobs.Backup(ctx, database(c), blobFolder(c), file)
}

// Restore puts a backup into the database and the data folder of a configuration. No daemon may use them.
func Restore(ctx context.Context, c config.Config, file string) (jobs.Archive, error) {
	return jobs.Restore(ctx, database(c), blobFolder(c), file, func() (io.Closer, error) {
		if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
			return nil, fmt.Errorf("create data folder: %w; set data_dir to a folder that judged may write", err)
		}
		return lockFolder(c.DataDir)
	})
}
