package httpapi

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"judged/internal/api"
	packages "judged/internal/engine/problem"
	"judged/internal/jobs"
	"judged/internal/jobs/intake"
)

// putProblem stores a package and what jobs need from it.
func (s *Server) putProblem(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if !jobs.ValidID(id) {
		return problem("bad-request", idRule, "invalid problem id %.70q", id)
	}
	if err := s.checkLength(r); err != nil {
		return err
	}
	editor := s.editor(r)
	old, err := s.jobs.Problem(r.Context(), id)
	if err == nil {
		err = editor.Check(r.Context(), old)
	}
	if err != nil && !errors.Is(err, jobs.ErrNoProblem) {
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
	p, created, err := s.jobs.PutProblem(context.WithoutCancel(r.Context()), p, editor)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		w.Header().Set("Location", "/v1/problems/"+id)
		s.log.Info("stored a problem", "problem", id, "version", p.Version, by(r))
	}
	return s.writeJSON(w, status, p.Shown())
}

// editor returns the caller as an editor of problems.
func (s *Server) editor(r *http.Request) jobs.Editor {
	name := caller(r.Context())
	return jobs.Editor{Name: name, Any: s.tokens == nil || s.tokens.has(name, Admin)}
}

func (s *Server) getProblem(r *http.Request) (any, error) {
	p, err := s.jobs.Problem(r.Context(), r.PathValue("id"))
	return p.Shown(), err
}

// problemList is a page of the list of problems.
type problemList struct {
	Problems []api.ProblemSummary `json:"problems"`
	Next     string               `json:"next,omitempty"`
}

func (s *Server) listProblems(r *http.Request) (any, error) {
	values, limit, err := pageOf(r)
	if err != nil {
		return nil, err
	}
	page, next, err := s.jobs.Problems(r.Context(), values.Get("after"), limit)
	return problemList{Problems: page, Next: next}, err
}

// deleteProblem deletes a problem. Accepted jobs keep what they have of it.
func (s *Server) deleteProblem(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := s.jobs.DeleteProblem(context.WithoutCancel(r.Context()), id, s.editor(r)); err != nil {
		return err
	}
	s.log.Info("deleted a problem", "problem", id, by(r))
	s.write(w, http.StatusNoContent, nil)
	return nil
}

// unpackTime is how long a package may make others wait.
const unpackTime = 5 * time.Minute

// readPackage unpacks a package, validates it and stores its files. Packages are large, so only one is unpacked at a
// time.
func (s *Server) readPackage(ctx context.Context, id, archive string) (p api.Problem, err error) {
	path, err := s.blobs.Path(archive)
	if err != nil {
		return p, err
	}
	if err := s.unpacking.Acquire(ctx, 1); err != nil {
		return p, err
	}
	defer s.unpacking.Release(1)
	ctx, cancel := context.WithTimeoutCause(ctx, unpackTime, problem("too-large", "send a smaller package",
		"reading the package takes longer than %s", unpackTime))
	defer cancel()
	defer func() {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	pkg, err := packages.Open(ctx, path)
	if err != nil {
		return p, unusable(err, path)
	}
	defer func() { err = errors.Join(err, pkg.Close()) }()
	if n := len(pkg.Recipes); n > 0 {
		return p, problem("invalid-problem", pkg.HowToAddTests(),
			"files of tests must be made by programs of the package: %d, the first one of test %q", n,
			pkg.Recipes[0].Test)
	}
	err = pkg.CheckLanguages(func(id string) error {
		return s.languages.CheckLanguage(ctx, s.config.Decider(s.config.Slots.Pool), id)
	})
	if err != nil {
		return p, unusable(err, "")
	}
	j, err := s.packageJob(pkg)
	if err != nil {
		return p, err
	}
	j, err = j.MapFiles(func(_ string, f api.File) (api.File, error) { return s.storeFile(ctx, f.Part) })
	if err != nil {
		return p, err
	}
	includes := map[string]map[string]api.File{}
	for language, files := range pkg.Includes {
		includes[language] = map[string]api.File{}
		for _, f := range files {
			if includes[language][f.Name], err = s.storeFile(ctx, f.Path); err != nil {
				return p, err
			}
		}
	}
	return api.Problem{ID: id, Scheme: j.Scheme, Includes: includes, Languages: pkg.Languages,
		Version: pkg.Version, Name: pkg.Name, Format: pkg.Format, Archive: archive,
		Tests: j.Tests, Groups: pkg.Scheme.Groups(), Checker: j.Checker, Interactor: j.Interactor, Passes: j.Passes,
		InputFile: j.InputFile, OutputFile: j.OutputFile, Limits: j.Limits, Factors: pkg.Factors,
		Findings: append([]string{}, pkg.Findings...)}, nil
}

// packageJob returns what a package adds to jobs, with paths of this host. It returns an error if no job could be
// judged with it.
func (s *Server) packageJob(pkg *packages.Package) (api.Job, error) {
	j, err := pkg.Judging(api.Job{})
	if err != nil {
		return j, unusable(err, "")
	}
	with := j
	with.Command = []string{"true"}
	err = intake.Check(s.config, with)
	if found := findingsOf(err); len(found) > 0 {
		p := problem("invalid-problem", "change the package, or the limits of the configuration", "%s", found)
		p.Errors = found
		return j, p
	}
	return j, err
}

// unusable turns an error about the package at a path into a problem. Errors of this host are returned unchanged.
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
	p := problem("invalid-problem", "change the package; judged verify checks it before it is sent", "%s", text)
	if invalid, ok := errors.AsType[*packages.InvalidError](err); ok {
		for _, finding := range invalid.Findings {
			p.Errors = append(p.Errors, api.FieldError{Detail: finding})
		}
	}
	return p
}

// storeFile stores a file of this host as a blob.
func (s *Server) storeFile(ctx context.Context, path string) (api.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return api.File{}, err
	}
	defer f.Close()
	digest, _, _, err := s.blobs.Put(ctx, "", f)
	return api.File{Blob: digest}, err
}
