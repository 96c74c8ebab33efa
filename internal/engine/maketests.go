package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"judged/internal/base/units"
	"judged/internal/engine/jury"
	"judged/internal/engine/languages"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
)

// maxMade bounds a file of a test that a program makes.
const maxMade = units.Bytes(1 << 30)

// MakeTests makes the files of tests that a package describes and does not have, on all housekeeping CPUs. What the same
// programs made of the same inputs before comes from the cache. A program that fails is a problem.ProgramError.
func (e *Engine) MakeTests(ctx context.Context, p *problem.Package) (err error) {
	if len(p.Recipes) == 0 {
		return nil
	}
	cpus := housekeeping(e.topology, e.slots)
	resources, err := e.UnplannedSlot(cpus, e.memoryNodes(cpus))
	if err != nil {
		return err
	}
	limits := e.options.Jury
	limits.Output, limits.Memory = maxMade, max(limits.Memory, p.Limits.Memory)
	limits.CPUTime = max(limits.CPUTime, 2*p.Limits.Time)
	runner, err := jury.NewRunner(e.launcher, resources, limits, e.options.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	compiler, err := e.Compiler()
	if err != nil {
		return err
	}
	m := testMaker{runner: runner, compiler: compiler, cache: openMadeCache(e.options.MadeFolder)}
	defer m.close()
	for _, ready := range []bool{true, false} {
		group, inner := errgroup.WithContext(ctx)
		group.SetLimit(len(cpus))
		for _, r := range p.Recipes {
			if r.Ready == ready {
				group.Go(func() error { return m.make(inner, r) })
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	p.Recipes = nil
	return m.cache.shrink()
}

// testMaker makes files of tests.
type testMaker struct {
	runner   *jury.Runner
	compiler *languages.Compiler
	cache    madeCache

	mu       sync.Mutex         // guards compiled
	compiled []languages.Result // in use until the end
}

func (m *testMaker) close() {
	for _, r := range m.compiled {
		r.Close()
	}
}

func (m *testMaker) make(ctx context.Context, r problem.Recipe) error {
	if err := m.tryMake(ctx, r); err != nil {
		return fmt.Errorf("make test %q: %w", r.Test, err)
	}
	return nil
}

func (m *testMaker) tryMake(ctx context.Context, r problem.Recipe) error {
	for _, p := range r.Products {
		if err := os.MkdirAll(filepath.Dir(p.Path), 0o700); err != nil {
			return err
		}
	}
	key, err := keyOf(r)
	if err != nil {
		return err
	}
	if ok, err := m.cache.restore(key, r.Products); ok || err != nil {
		return err
	}
	work := r.Run
	if work.Program, err = m.compile(ctx, r.Command, work.Program); err != nil {
		return err
	}
	if r.Interactor != nil {
		talks := *r.Interactor
		if talks.Program, err = m.compile(ctx, "interactor", talks.Program); err != nil {
			return err
		}
		work.Talks = &talks
	}
	if r.Input != "" {
		if work.Input, err = sandbox.NewInput(r.Input, m.runner.Resources()); err != nil {
			return err
		}
		defer work.Input.Close()
	}
	fault, err := m.runner.Make(ctx, work, func(open jury.Open) error { return copyProducts(r, open) })
	if fault != nil {
		return &problem.ProgramError{Name: r.Command, Reason: fault.Error()}
	}
	if err != nil {
		return err
	}
	return m.cache.put(key, r.Products)
}

// compile compiles a program if it is a source.
func (m *testMaker) compile(ctx context.Context, name string, p jury.Program) (jury.Program, error) {
	if p.Language == "" {
		return p, nil
	}
	r, err := m.compiler.Compile(ctx, languages.Source{Language: p.Language, Files: p.Files})
	if err != nil {
		return p, err
	}
	m.mu.Lock()
	m.compiled = append(m.compiled, r)
	m.mu.Unlock()
	if r.Failure != "" {
		first, _, _ := strings.Cut(r.Output, "\n")
		return p, &problem.ProgramError{Name: name, Reason: "does not compile: " + r.Failure + ": " + first}
	}
	return jury.Program{Name: p.Name, Command: r.Args, Files: r.Files, Args: p.Args}, nil
}

// copyProducts copies the files that a program has made to their paths in the package.
func copyProducts(r problem.Recipe, open jury.Open) error {
	for _, p := range r.Products {
		made, err := open(p.Name)
		if err != nil {
			return err
		}
		if made == nil {
			return &problem.ProgramError{Name: r.Command, Reason: fmt.Sprintf("did not write the file %q",
				cmp.Or(p.Name, r.Run.OutputFile))}
		}
		if err := writeNew(p.Path, made); err != nil {
			return err
		}
	}
	return nil
}

// writeNew writes a file whole, or not at all.
func writeNew(path string, from io.Reader) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// keyOf is the digest of all that the products of a recipe depend on, but for the compiler.
func keyOf(r problem.Recipe) (string, error) {
	h := sha256.New()
	add := func(p jury.Program) error {
		fmt.Fprintf(h, "%q %q %q\n", p.Language, p.Command, p.Args)
		for _, f := range p.Files {
			fmt.Fprintf(h, "%q %v\n", f.Name, f.Exec)
			if err := addFile(h, f.Path); err != nil {
				return err
			}
		}
		return nil
	}
	err := add(r.Run.Program)
	fmt.Fprintf(h, "%q %q, which must exist\n", r.Run.InputFile, r.Run.OutputFile)
	if r.Interactor != nil && err == nil {
		err = add(r.Interactor.Program)
	}
	if r.Input != "" && err == nil {
		err = addFile(h, r.Input)
	}
	for _, p := range r.Products {
		fmt.Fprintf(h, "%q\n", p.Name)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// addFile adds the digest of a file.
func addFile(h hash.Hash, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	content := sha256.New()
	if _, err := io.Copy(content, f); err != nil {
		return err
	}
	fmt.Fprintf(h, "%x\n", content.Sum(nil))
	return nil
}
