package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"judged/internal/engine/languages"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
)

// failedSource is a source that does not compile.
type failedSource struct{ name, why string }

func (e *failedSource) Error() string { return fmt.Sprintf("%q does not compile: %s", e.name, e.why) }

// compileJury puts binaries in the place of the sources of the jury's programs.
func (v *verifier) compileJury(ctx context.Context) error {
	var programs []*problem.Program
	for _, c := range []*problem.Checker{&v.pkg.Checker, v.pkg.Interactor} {
		if c != nil && c.Program != nil {
			programs = append(programs, c.Program)
		}
	}
	for i := range v.pkg.Validators {
		programs = append(programs, &v.pkg.Validators[i].Program)
	}
	for _, p := range programs {
		compiled, err := v.compile(ctx, *p, nil)
		if failed := new(failedSource); errors.As(err, &failed) {
			return &usageError{err}
		}
		if err != nil {
			return err
		}
		*p = compiled
	}
	return nil
}

// compile returns the program with a binary in the place of its sources. It leaves alone what can be run as it is, and
// languages whose result is not one binary: for these Start returns a SourceError.
func (v *verifier) compile(ctx context.Context, p problem.Program, includes []problem.File) (problem.Program, error) {
	if !p.IsSource() {
		return p, nil
	}
	v.compiling.Lock()
	defer v.compiling.Unlock()
	compiler, err := v.eng.Compiler()
	if err != nil {
		return p, err
	}
	source := languages.Source{Language: p.Language}
	for _, f := range slices.Concat(p.Files, includes) {
		source.Files = append(source.Files, sandbox.File{Name: f.Name, Path: f.Path})
	}
	result, err := compiler.Compile(ctx, source)
	if missing := new(languages.UnavailableError); errors.As(err, &missing) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	v.compiled = append(v.compiled, result)
	if result.Failure != "" {
		return p, &failedSource{p.Name, result.Failure}
	}
	if len(result.Args) == 1 && len(result.Files) == 1 {
		p.Files = []problem.File{{Name: result.Files[0].Name, Path: result.Files[0].Path}}
	}
	return p, nil
}
