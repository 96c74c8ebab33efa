package intake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/jobs"
)

// Jobs reads stored jobs and problems; *jobs.Store implements it.
type Jobs interface {
	Get(ctx context.Context, id string) (jobs.Record, error)
	Problem(ctx context.Context, id string) (api.Problem, error)
}

// Blobs stores files; *blobs.Store implements it.
type Blobs interface {
	Put(ctx context.Context, digest string, r io.Reader) (sha256 string, n units.Bytes, created bool, err error)
	PutAll(ctx context.Context, contents map[string][]byte) error
	Stat(digest string) (units.Bytes, error)
}

// Languages reports the languages of pools.
type Languages interface {
	// CheckLanguage returns the reason why a pool cannot judge jobs in a language, or nil.
	CheckLanguage(ctx context.Context, pool, id string) error
	// CompileOptions returns the options that jobs in a language may add. known is false while it is not known.
	CompileOptions(ctx context.Context, pool, id string) (options []string, known bool, err error)
}

// Pools reports the pools of a fleet; *front.Registry implements it.
type Pools interface {
	// CheckPool returns an error that wraps api.ErrUnknownPool for a pool that does not accept jobs.
	CheckPool(ctx context.Context, name string) error
	// CheckCPUs returns the CPUs of the widest slot of a pool if a job needs more, otherwise 0.
	CheckCPUs(ctx context.Context, pool string, cpus int) (most int, err error)
}

// Callbacks checks the callbacks of jobs; *callback.Deliverer implements it.
type Callbacks interface {
	// Check returns what is wrong with the callback of a tenant's job.
	Check(ctx context.Context, tenant string, c api.Callback) (Errors, error)
}

// Intake prepares submissions. It is safe for concurrent use.
type Intake struct {
	Config    config.Config // its sections limits, slots, repeats and sandbox are used
	Jobs      Jobs
	Blobs     Blobs
	Languages Languages
	Pools     Pools
	Factors   map[string]api.Factors // of the operator, by language
	Callbacks Callbacks
}

// Request is a job as a caller submitted it.
type Request struct {
	ID       string
	Job      api.Job
	Findings Errors            // about values that could not be put into Job
	Parts    map[string]string // name -> digest of the files that came with the job; they are already stored
}

// Prepare returns the job of a request, ready to be stored. Its files are blobs then. If the caller has to change the
// request, the error is one of Errors, *MissingBlobsError, *MissingLanguageError and *MissingProblemError;
// nothing except the parts is stored then.
func (in *Intake) Prepare(ctx context.Context, r Request) (jobs.Submission, error) {
	if r.Job.Language == api.BuildLanguage {
		return jobs.Submission{}, &MissingLanguageError{Member: "language", Err: &api.LanguageUnavailableError{
			Language: r.Job.Language, Reason: "only programs of packages have it; send a language of GET /v1/languages"}}
	}
	expanded, err := in.expand(ctx, r)
	if err == nil {
		err = in.check(ctx, expanded)
	}
	if err != nil {
		return in.repeated(ctx, r, err)
	}
	normal, err := in.storeFiles(ctx, expanded)
	if err != nil {
		return jobs.Submission{}, err
	}
	digest, err := digestOf(collapse(normal, r.Job)) // a problem may change between two attempts
	if err != nil {
		return jobs.Submission{}, err
	}
	return jobs.Submission{ID: r.ID, BodyDigest: digest, Job: Scale(in.Config, in.Factors,
		fill(in.Config, normal))}, nil
}

// repeated returns the submission of a request that cannot be accepted now, if its job is stored: its caller has not
// received the response, and repeats the request. Otherwise it returns the reason.
func (in *Intake) repeated(ctx context.Context, r Request, reason error) (jobs.Submission, error) {
	if len(r.Findings)+len(unusedParts(r)) > 0 {
		return jobs.Submission{}, reason
	}
	rec, err := in.Jobs.Get(ctx, r.ID)
	if errors.Is(err, api.ErrNotFound) {
		return jobs.Submission{}, reason
	}
	if err != nil {
		return jobs.Submission{}, err
	}
	normal, err := r.Job.MapFiles(func(_ string, f api.File) (api.File, error) {
		return api.File{Blob: digestOfFile(f, r.Parts)}, nil
	})
	if err != nil {
		return jobs.Submission{}, err
	}
	digest, err := digestOf(normal)
	if err != nil {
		return jobs.Submission{}, err
	}
	if digest != rec.BodyDigest {
		return jobs.Submission{}, reason
	}
	return jobs.Submission{ID: r.ID, BodyDigest: digest, Job: rec.Job}, nil
}

// expand adds the content of the problem that a job names.
func (in *Intake) expand(ctx context.Context, r Request) (Request, error) {
	if r.Job.Problem == "" {
		if r.Job.ProblemVersion != "" {
			r.Findings = append(r.Findings, api.FieldError{Field: "problem_version",
				Detail: "given without problem; send both, or leave it out"})
		}
		return r, nil
	}
	p, err := in.problemOf(ctx, r)
	if err != nil {
		return r, err
	}
	if l := r.Job.Language; l != "" && len(p.Languages) > 0 && !slices.Contains(p.Languages, l) {
		return r, Errors{{Field: "language", Detail: fmt.Sprintf("%q is not allowed by the problem; send one of %s",
			l, strings.Join(p.Languages, ", "))}}
	}
	if r.Job, err = Expand(p.Include(r.Job), p.Job()); err != nil {
		return r, err
	}
	r.Job.ProblemVersion = p.Version
	return r, nil
}

// problemOf returns the problem that a job names. If the problem was deleted or replaced, a repeated submission gets
// the problem of the first one.
func (in *Intake) problemOf(ctx context.Context, r Request) (api.Problem, error) {
	named := func(id, version string) bool {
		return id == r.Job.Problem && (r.Job.ProblemVersion == "" || r.Job.ProblemVersion == version)
	}
	p, err := in.Jobs.Problem(ctx, r.Job.Problem)
	if err != nil && !errors.Is(err, jobs.ErrNoProblem) || err == nil && named(p.ID, p.Version) {
		return p, err
	}
	old, errOld := in.Jobs.Get(ctx, r.ID)
	switch {
	case errOld != nil && !errors.Is(errOld, api.ErrNotFound):
		return api.Problem{}, errOld
	case errOld == nil && named(old.Job.Problem, old.Job.ProblemVersion):
		return api.ProblemOf(old.Job), nil
	case err != nil:
		return api.Problem{}, &MissingProblemError{ID: r.Job.Problem}
	}
	return api.Problem{}, &MissingProblemError{ID: r.Job.Problem, Stored: p.Version}
}

// storeFiles stores all files as blobs and returns the job with their digests.
func (in *Intake) storeFiles(ctx context.Context, r Request) (api.Job, error) {
	return r.Job.MapFiles(func(_ string, f api.File) (api.File, error) {
		if err := ctx.Err(); err != nil {
			return f, err
		}
		digest, err := in.storeFile(ctx, f, r.Parts)
		return api.File{Blob: digest}, err
	})
}

// storeFile stores a file as a blob and returns its digest.
func (in *Intake) storeFile(ctx context.Context, f api.File, parts map[string]string) (string, error) {
	switch {
	case f.Text != nil:
		return in.storeContent(ctx, []byte(*f.Text))
	case f.Base64 != nil:
		content, err := decode(*f.Base64)
		if err != nil {
			return "", fmt.Errorf("decode base64: %w", err)
		}
		return in.storeContent(ctx, content)
	case f.Part != "":
		return parts[f.Part], nil
	}
	return f.Blob, nil
}

// storeContent stores content unless it is already stored: platforms send the same inputs many times, and a lookup is
// cheaper than a synced write.
func (in *Intake) storeContent(ctx context.Context, content []byte) (string, error) {
	name := digest(content)
	if _, err := in.Blobs.Stat(name); err == nil {
		return name, nil
	}
	_, _, _, err := in.Blobs.Put(context.WithoutCancel(ctx), name, bytes.NewReader(content))
	return name, err
}

// digestOfFile returns the digest of a file's content, or "" if it is missing or invalid.
func digestOfFile(f api.File, parts map[string]string) string {
	switch {
	case f.Text != nil:
		return digest([]byte(*f.Text))
	case f.Base64 != nil:
		content, err := decode(*f.Base64)
		if err != nil {
			return ""
		}
		return digest(content)
	case f.Part != "":
		return parts[f.Part]
	}
	return f.Blob
}

func decode(text string) ([]byte, error) { return base64.StdEncoding.Strict().DecodeString(text) }

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
