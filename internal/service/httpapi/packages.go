package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"

	"judged/internal/base/job"
	packages "judged/internal/engine/problem"
	"judged/internal/jobs"
	"judged/internal/jobs/jobspec"
)

// putProblem stores a package and what jobs need of it.
func (s *Server) putProblem(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if !jobs.ValidID(id) {
		return problem("bad-request", "use 1 to 64 letters, digits, . _ and -, a letter or digit first",
			"invalid problem id %q", id)
	}
	if err := s.checkLength(r); err != nil {
		return err
	}
	archive, _, _, err := s.blobs.Put(r.Context(), "", fromCaller{s.patientBody(w, r)})
	if err != nil {
		return err
	}
	p, err := s.readPackage(r.Context(), id, archive)
	if err != nil {
		return err
	}
	created, err := s.jobs.PutProblem(context.WithoutCancel(r.Context()), p)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		w.Header().Set("Location", "/v1/problems/"+id)
	}
	return s.writeJSON(w, status, p.Shown())
}

func (s *Server) getProblem(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	p, found, err := s.jobs.Problem(r.Context(), id)
	if err != nil {
		return err
	}
	if !found {
		return problem("not-found", "store it with PUT", "no problem %q", id)
	}
	return s.writeJSON(w, http.StatusOK, p.Shown())
}

// readPackage unpacks a package, checks it and stores its files. Packages are large:
// one is unpacked at a time.
func (s *Server) readPackage(ctx context.Context, id, archive string) (p jobs.Problem, err error) {
	path, err := s.blobs.Path(archive)
	if err != nil {
		return p, err
	}
	if err := s.unpacking.Acquire(ctx, 1); err != nil {
		return p, err
	}
	defer s.unpacking.Release(1)
	pkg, err := packages.Open(path)
	if err != nil {
		return p, unusable(err, path)
	}
	defer func() { err = errors.Join(err, pkg.Close()) }()
	j, err := s.packageJob(pkg)
	if err != nil {
		return p, err
	}
	j, err = jobspec.MapFiles(j, func(_ string, f job.File) (job.File, error) { return s.storeFile(ctx, f.Part) })
	if err != nil {
		return p, err
	}
	includes := map[string]map[string]job.File{}
	for language, files := range pkg.Includes {
		includes[language] = map[string]job.File{}
		for _, f := range files {
			if includes[language][f.Name], err = s.storeFile(ctx, f.Path); err != nil {
				return p, err
			}
		}
	}
	return jobs.Problem{ID: id, Scheme: j.Scheme, Includes: includes, Languages: pkg.Languages,
		Version: pkg.Version, Name: pkg.Name, Format: pkg.Format, Archive: archive,
		Tests: j.Tests, Groups: pkg.Scheme.Groups(), Checker: j.Checker, Interactor: j.Interactor, Limits: j.Limits,
		Findings: append([]string{}, pkg.Findings...)}, nil
}

// packageJob is what a package says to jobs, with paths of this host. It is refused
// where no job could be judged with it.
func (s *Server) packageJob(pkg *packages.Package) (job.Job, error) {
	j, err := pkg.Judging(job.Job{})
	if err != nil {
		return j, unusable(err, "")
	}
	with := j
	with.Command = []string{"true"}
	_, err = jobspec.Complete(s.config, with)
	if found := findings(err); len(found) > 0 {
		p := problem("invalid-problem", "change the package, or the limits of the configuration", "%s", found)
		p.Errors = found
		return j, p
	}
	return j, err
}

// unusable turns an error about the package at a path into a problem. Errors of this
// host stay what they are.
func unusable(err error, path string) error {
	for _, ours := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EMFILE,
		syscall.EACCES} {
		if errors.Is(err, ours) {
			return err
		}
	}
	text := err.Error()
	if path != "" {
		text = strings.ReplaceAll(text, path, "(body)")
	}
	return problem("invalid-problem", "change the package; judged verify checks it before it is sent", "%s", text)
}

// storeFile stores a file of this host as a blob.
func (s *Server) storeFile(ctx context.Context, path string) (job.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return job.File{}, err
	}
	defer f.Close()
	digest, _, _, err := s.blobs.Put(ctx, "", f)
	return job.File{Blob: digest}, err
}

// expand adds to a job what the problem that it names has.
func (s *Server) expand(ctx context.Context, sent *submission) error {
	id := sent.job.Problem
	if id == "" {
		if sent.job.ProblemVersion != "" {
			sent.unfit = append(sent.unfit, jobspec.FieldError{Field: "problem_version",
				Detail: "given without problem; send both, or leave it out"})
		}
		return nil
	}
	p, found, err := s.jobs.Problem(ctx, id)
	switch {
	case err != nil:
		return err
	case !found:
		return problem("missing-problem", "store it with PUT /v1/problems/{id} and send the job again", "no problem %q", id)
	case sent.job.ProblemVersion != "" && sent.job.ProblemVersion != p.Version:
		return problem("missing-problem", "send that version, or none for the stored one",
			"problem %q has the version %s", id, p.Version)
	}
	if l := sent.job.Language; l != "" && len(p.Languages) > 0 && !slices.Contains(p.Languages, l) {
		return jobspec.Errors{{Field: "language", Detail: fmt.Sprintf("%q is not allowed by the problem; send one of %s", l,
			strings.Join(p.Languages, ", "))}}
	}
	j, err := jobspec.Expand(p.Include(sent.job), p.Job())
	if err != nil {
		return err
	}
	j.ProblemVersion = p.Version
	sent.job = j
	return nil
}
