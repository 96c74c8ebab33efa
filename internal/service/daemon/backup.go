package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"judged/internal/base/config"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// database returns the options of the configured database.
func database(c config.Config) jobs.Options {
	return jobs.Options{URL: c.Database.URL, File: filepath.Join(c.DataDir, "judged.db")}
}

// databaseKind returns the kind of the configured database for the log. Its URL may have a password.
func databaseKind(c config.Config) string {
	if c.Database.URL != "" {
		return "postgresql"
	}
	return "sqlite"
}

// blobFolder returns the folder with the blobs, or with copies of those in a bucket.
func blobFolder(c config.Config) string {
	if folder, _ := c.Blobs.Parts(); folder != "" {
		return folder
	}
	return filepath.Join(c.DataDir, "blobs")
}

// openBlobs opens the blobs of a daemon with a database. Transfers end with life.
func openBlobs(life context.Context, c config.Config) (blobStore, error) {
	switch folder, bucket := c.Blobs.Parts(); {
	case bucket != "":
		return blobs.OpenBucket(blobs.BucketOptions{URL: bucket, Folder: blobFolder(c), Max: c.HTTP.MaxBlob,
			CacheSize: c.Fleet.CacheSize, Life: life})
	case folder != "":
		return blobs.OpenShared(folder, c.HTTP.MaxBlob)
	}
	return blobs.Open(blobFolder(c), c.HTTP.MaxBlob)
}

// Backup writes the jobs of a configuration to file, whether or not its daemon is running.
func Backup(ctx context.Context, c config.Config, file string) (jobs.Archive, error) {
	// A daemon may have its own folder open: Attach changes nothing there.
	var files jobs.Files = blobs.Attach(blobFolder(c))
	if err := checkMounted(c); err != nil {
		return jobs.Archive{}, err
	}
	if _, bucket := c.Blobs.Parts(); bucket != "" {
		copies, err := os.MkdirTemp(filepath.Dir(file), "judged-backup-")
		if err != nil {
			return jobs.Archive{}, fmt.Errorf("create a folder for files of the bucket: %w", err)
		}
		defer os.RemoveAll(copies)
		if files, err = blobs.OpenBucket(blobs.BucketOptions{URL: bucket, Folder: copies, Life: ctx}); err != nil {
			return jobs.Archive{}, err
		}
	}
	return jobs.Backup(ctx, database(c), files, file)
}

// checkMounted returns an error for a shared folder whose file system is not mounted.
func checkMounted(c config.Config) error {
	folder, _ := c.Blobs.Parts()
	if folder == "" {
		return nil
	}
	if err := blobs.CheckMounted(folder); err != nil {
		return &SettingError{"blobs.url", err}
	}
	return nil
}

// Restore restores a backup into the database and the data folder of a configuration. No daemon may use them.
func Restore(ctx context.Context, c config.Config, file string) (jobs.Archive, error) {
	if err := checkMounted(c); err != nil {
		return jobs.Archive{}, err
	}
	c.HTTP.MaxBlob = 0 // files that were accepted before keep their size
	files := func() (jobs.Files, error) { return openBlobs(ctx, c) }
	return jobs.Restore(ctx, database(c), files, file, func() (io.Closer, error) {
		if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
			return nil, fmt.Errorf("create data folder: %w; set data_dir to a folder that judged can write to", err)
		}
		return lockFolder(c.DataDir)
	})
}
