package intake

import (
	"context"
	"fmt"
	"io"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// Batch prepares the jobs of one request. It reads each problem and looks up each blob once, and keeps the contents of
// files until StoreFiles. It is not safe for concurrent use.
type Batch struct {
	intake Intake
	files  *keptFiles
}

// NewBatch returns a batch without jobs.
func (in *Intake) NewBatch() *Batch {
	b := &Batch{intake: *in, files: &keptFiles{Blobs: in.Blobs, max: in.Config.HTTP.MaxBlob,
		sizes: map[string]units.Bytes{}, contents: map[string][]byte{}}}
	b.intake.Jobs = &keptProblems{Jobs: in.Jobs, problems: map[string]api.Problem{}}
	b.intake.Blobs = b.files
	return b
}

// Prepare is like Intake.Prepare. The job must not be stored before StoreFiles has returned.
func (b *Batch) Prepare(ctx context.Context, r Request) (jobs.Submission, error) {
	return b.intake.Prepare(ctx, r)
}

// StoreFiles stores the files of all prepared jobs.
func (b *Batch) StoreFiles(ctx context.Context) error {
	return b.files.Blobs.PutAll(ctx, b.files.contents)
}

// keptProblems remembers problems that exist.
type keptProblems struct {
	Jobs
	problems map[string]api.Problem
}

// Problem implements Jobs.
func (k *keptProblems) Problem(ctx context.Context, id string) (api.Problem, error) {
	p, known := k.problems[id]
	if known {
		return p, nil
	}
	p, err := k.Jobs.Problem(ctx, id)
	if err == nil {
		k.problems[id] = p
	}
	return p, err
}

// keptFiles keeps new contents, and remembers blobs that exist.
type keptFiles struct {
	Blobs
	max      units.Bytes
	sizes    map[string]units.Bytes
	contents map[string][]byte
}

// Stat implements Blobs.
func (k *keptFiles) Stat(digest string) (n units.Bytes, err error) {
	n, known := k.sizes[digest]
	if known {
		return n, nil
	}
	if n, err = k.Blobs.Stat(digest); err == nil {
		k.sizes[digest] = n
	}
	return n, err
}

// Put implements Blobs.
func (k *keptFiles) Put(_ context.Context, digest string, r io.Reader) (string, units.Bytes, bool, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return "", 0, false, err
	}
	n := units.Bytes(len(content))
	if n > k.max {
		return "", 0, false, fmt.Errorf("store blob of %s: %w", n, blobs.ErrTooBig)
	}
	k.contents[digest], k.sizes[digest] = content, n
	return digest, n, true, nil
}
