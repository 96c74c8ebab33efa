package intake

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// check returns every error of a submission, so that the caller can correct all of
// them at once.
func (in *Intake) check(ctx context.Context, r Request) error {
	found := r.Findings
	err := Check(in.Config, r.Job)
	found = found.With(findings(err))
	pool := cmp.Or(r.Job.Pool, in.Config.Slots.Pool)
	unknown, err := in.CheckPool(ctx, pool)
	if err != nil {
		return err
	}
	found = found.With(unknown)
	wide, err := in.checkCPUs(ctx, r.Job)
	if err != nil {
		return err
	}
	found = found.With(wide)
	for member, id := range r.Job.Languages() {
		if err := in.Languages.CheckLanguage(ctx, in.Config.Decider(pool), id); err != nil {
			return &MissingLanguageError{Member: member, Err: err}
		}
	}
	refused, err := in.checkOptions(ctx, in.Config.Decider(pool), r.Job)
	if err != nil {
		return err
	}
	found = found.With(refused)
	missing, err := in.missing(ctx, r)
	if err != nil {
		return err
	}
	if len(found) == 0 && len(missing) > 0 {
		return &MissingBlobsError{Findings: missing}
	}
	found = found.With(missing).With(unusedParts(r))
	err = CheckRoom(r.Job, in.Config.Sandbox.WorkSize, func(f api.File) (units.Bytes, error) {
		return in.size(f, r.Parts), ctx.Err()
	})
	if found = found.With(findings(err)); len(found) > 0 {
		return found
	}
	if err != nil || r.Job.Callback == nil {
		return err
	}
	found, err = in.Callbacks.Check(ctx, jobs.TenantOf(ctx), *r.Job.Callback)
	if err == nil && len(found) > 0 {
		return found
	}
	return err
}

// checkOptions reports options that the language of a job does not allow.
func (in *Intake) checkOptions(ctx context.Context, pool string, j api.Job) (list Errors, err error) {
	if len(j.CompileOptions) == 0 || j.Language == "" {
		return nil, nil
	}
	allowed, known, err := in.Languages.CompileOptions(ctx, pool, j.Language)
	if err != nil || !known {
		return nil, err
	}
	for i, o := range j.CompileOptions {
		if slices.Contains(allowed, o) {
			continue
		}
		detail := fmt.Sprintf("%s is not allowed for %q, which allows none", text.Quoted(o), j.Language)
		if len(allowed) > 0 {
			detail = fmt.Sprintf("%s is not allowed for %q; send any of %s", text.Quoted(o), j.Language,
				strings.Join(allowed, ", "))
		}
		list = append(list, api.FieldError{Field: fmt.Sprintf("compile_options[%d]", i), Detail: detail})
	}
	return list, nil
}

// CheckPool reports a pool that has no node and is not configured.
func (in *Intake) CheckPool(ctx context.Context, pool string) (Errors, error) {
	if pool == in.Config.Slots.Pool || !config.ValidPool(pool) {
		return nil, nil
	}
	err := in.Pools.CheckPool(ctx, pool)
	if errors.Is(err, api.ErrUnknownPool) {
		return Errors{{Field: "pool", Detail: fmt.Sprintf("%q is %s", pool, err)}}, nil
	}
	return nil, err
}

// checkCPUs reports a job that no slot of its pool, or of the pool that decides, is wide enough for: it would wait for
// ever.
func (in *Intake) checkCPUs(ctx context.Context, j api.Job) (Errors, error) {
	if in.Pools == nil || j.CPUs <= 1 {
		return nil, nil
	}
	pool := cmp.Or(j.Pool, in.Config.Slots.Pool)
	for _, name := range []string{pool, in.Config.Decider(pool)} {
		most, err := in.Pools.CheckCPUs(ctx, name, j.CPUs)
		if err != nil {
			return nil, err
		}
		if most > 0 {
			return Errors{{Field: "cpus", Detail: fmt.Sprintf("%d; the widest slots of pool %q have %d, send at most that",
				j.CPUs, name, most)}}, nil
		}
	}
	return nil, nil
}

// findings returns the validation errors in err.
func findings(err error) (list Errors) {
	errors.As(err, &list)
	return list
}

// maxMissing limits the number of missing blobs that one response names.
const maxMissing = 100

// missing returns errors for the blobs that a job names and that are neither stored nor sent with it.
func (in *Intake) missing(ctx context.Context, r Request) (list Errors, err error) {
	brought := sync.OnceValue(func() map[string]bool { return contents(r) })
	lost := map[string]bool{} // caches lookups: a job may name the same blob many times
	_, err = r.Job.MapFiles(func(field string, f api.File) (api.File, error) {
		if f.Blob == "" || !blobs.ValidDigest(f.Blob) || len(list) > maxMissing {
			return f, nil
		}
		if _, asked := lost[f.Blob]; !asked {
			_, err := in.Blobs.Stat(f.Blob)
			lost[f.Blob] = errors.Is(err, blobs.ErrNotFound) && !brought()[f.Blob]
		}
		switch {
		case !lost[f.Blob]:
		case len(list) == maxMissing:
			list = append(list, api.FieldError{Detail: "further missing blobs are left out"})
		default:
			list = append(list, api.FieldError{Field: field, Detail: "blob " + f.Blob + " is not stored"})
		}
		return f, ctx.Err()
	})
	return list, err
}

// contents returns the digests of the files that were sent with a job.
func contents(r Request) map[string]bool {
	digests := map[string]bool{}
	_, _ = r.Job.MapFiles(func(_ string, f api.File) (api.File, error) {
		if f.Blob == "" {
			digests[digestOfFile(f, r.Parts)] = true
		}
		return f, nil
	})
	return digests
}

// unusedParts returns errors for parts that the job names and the body lacks, and for parts that the job does not name.
func unusedParts(r Request) (list Errors) {
	used := map[string]bool{}
	_, _ = r.Job.MapFiles(func(field string, f api.File) (api.File, error) {
		used[f.Part] = true
		if _, ok := r.Parts[f.Part]; f.Part != "" && !ok {
			list = append(list, api.FieldError{Field: field + ".part",
				Detail: fmt.Sprintf("no part %.70q in the body; send it along, or content of another kind", f.Part)})
		}
		return f, nil
	})
	for _, name := range slices.Sorted(maps.Keys(r.Parts)) {
		if !used[name] {
			list = append(
				list,
				api.FieldError{
					Field:  "parts[" + text.Quoted(name) + "]",
					Detail: "not named in the job; name it or leave it out",
				},
			)
		}
	}
	return list
}

// size returns the size of a file's content, or 0 if it is missing.
func (in *Intake) size(f api.File, parts map[string]string) units.Bytes {
	switch {
	case f.Text != nil:
		return units.Bytes(len(*f.Text))
	case f.Base64 != nil:
		return units.Bytes(base64.StdEncoding.DecodedLen(len(*f.Base64)) - strings.Count(*f.Base64, "="))
	case f.Part != "":
		f.Blob = parts[f.Part]
	}
	n, _ := in.Blobs.Stat(f.Blob)
	return n
}
