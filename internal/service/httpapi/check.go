package httpapi

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
	"judged/internal/base/units"
	"judged/internal/fleet/front"
	"judged/internal/jobs/blobs"
	"judged/internal/jobs/jobspec"
)

// check returns every error of a submission, so that the caller can correct all of
// them at once.
func (s *Server) check(ctx context.Context, sent submission) error {
	found := sent.unfit
	_, err := jobspec.Complete(s.config, sent.job)
	found = found.With(findings(err))
	pool := cmp.Or(sent.job.Pool, s.config.Slots.Pool)
	unknown, err := s.unknownPool(ctx, pool)
	if err != nil {
		return err
	}
	found = found.With(unknown)
	for member, id := range sent.job.Languages() {
		if err := s.languages.CheckLanguage(ctx, s.config.Decider(pool), id); err != nil {
			return problem("missing-language", "send a language that GET /v1/languages says is available", "%s: %s",
				member, err)
		}
	}
	missing, err := s.missing(ctx, sent)
	if err != nil {
		return err
	}
	if len(found) == 0 && len(missing) > 0 {
		p := problem("missing-blob", "upload it with PUT /v1/blobs/{sha256} and send the job again", "%s", missing)
		p.Errors = missing
		return p
	}
	found = found.With(missing).With(s.parts(sent))
	err = jobspec.CheckRoom(sent.job, s.config.Sandbox.WorkSize, func(f api.File) (units.Bytes, error) {
		return s.size(f, sent.parts), ctx.Err()
	})
	if found = found.With(findings(err)); len(found) > 0 {
		return found
	}
	return err
}

// unknownPool finds a pool that nobody has.
func (s *Server) unknownPool(ctx context.Context, pool string) (jobspec.Errors, error) {
	if pool == s.config.Slots.Pool || !config.ValidPool(pool) {
		return nil, nil
	}
	err := s.nodes.CheckPool(ctx, pool)
	if errors.Is(err, front.ErrUnknownPool) {
		return jobspec.Errors{{Field: "pool", Detail: fmt.Sprintf("%q is %s", pool, err)}}, nil
	}
	return nil, err
}

// findings are the errors that jobspec returned.
func findings(err error) (list jobspec.Errors) {
	errors.As(err, &list)
	return list
}

// maxMissing bounds the missing blobs that one answer names.
const maxMissing = 100

// missing finds the blobs that a job names and that are neither stored nor sent
// with it.
func (s *Server) missing(ctx context.Context, sent submission) (list jobspec.Errors, err error) {
	brought := sync.OnceValue(func() map[string]bool { return contents(sent) })
	lost := map[string]bool{} // a job may name the same blob many times
	_, err = sent.job.MapFiles(func(field string, f api.File) (api.File, error) {
		if f.Blob == "" || !blobs.ValidDigest(f.Blob) || len(list) > maxMissing {
			return f, nil
		}
		if _, asked := lost[f.Blob]; !asked {
			_, err := s.blobs.Stat(f.Blob)
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
func contents(sent submission) map[string]bool {
	digests := map[string]bool{}
	_, _ = sent.job.MapFiles(func(_ string, f api.File) (api.File, error) {
		switch {
		case f.Text != nil:
			digests[digest([]byte(*f.Text))] = true
		case f.Base64 != nil:
			if content, err := decode(*f.Base64); err == nil {
				digests[digest(content)] = true
			}
		case f.Part != "":
			digests[sent.parts[f.Part]] = true
		}
		return f, nil
	})
	return digests
}

// parts finds the parts that the job names and the body lacks, and those that the
// job does not name.
func (s *Server) parts(sent submission) (list jobspec.Errors) {
	used := map[string]bool{}
	_, _ = sent.job.MapFiles(func(field string, f api.File) (api.File, error) {
		used[f.Part] = true
		if _, ok := sent.parts[f.Part]; f.Part != "" && !ok {
			list = append(list, api.FieldError{Field: field + ".part",
				Detail: fmt.Sprintf("no part %q in the body; send it along, or content of another kind", f.Part)})
		}
		return f, nil
	})
	for _, name := range slices.Sorted(maps.Keys(sent.parts)) {
		if !used[name] {
			list = append(
				list,
				api.FieldError{
					Field:  fmt.Sprintf("parts[%q]", name),
					Detail: "not named in the job; name it or leave it out",
				},
			)
		}
	}
	return list
}

// size returns the size of a file's content, 0 if it is missing.
func (s *Server) size(f api.File, parts map[string]string) units.Bytes {
	switch {
	case f.Text != nil:
		return units.Bytes(len(*f.Text))
	case f.Base64 != nil:
		return units.Bytes(base64.StdEncoding.DecodedLen(len(*f.Base64)) - strings.Count(*f.Base64, "="))
	case f.Part != "":
		f.Blob = parts[f.Part]
	}
	n, _ := s.blobs.Stat(f.Blob)
	return n
}
