package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"judged/internal/api"
	"judged/internal/engine"
	"judged/internal/engine/problem"
	"judged/internal/service/render"
)

// makeTests makes the tests that a package describes and does not have.
func (a *app) makeTests(ctx context.Context, eng *engine.Engine, pkg *problem.Package) error {
	if len(pkg.Recipes) > 0 && isTerminal(a.err) {
		line := render.Line{W: a.err}
		line.Show("making %d files of tests", len(pkg.Recipes))
		defer line.Clear()
	}
	err := eng.MakeTests(ctx, pkg)
	if errors.As(err, new(*problem.ProgramError)) || errors.As(err, new(*api.LanguageUnavailableError)) {
		return &usageError{err}
	}
	return err
}

// madeFolder is where commands keep the tests that they have made; "" keeps nothing.
func madeFolder() string {
	if cache := cacheFolder(); cache != "" {
		return filepath.Join(cache, "tests")
	}
	return ""
}

// cacheFolder returns the folder in which commands keep what they can make again, below the user's cache folder; "" if the
// user has none. It need not exist.
func cacheFolder() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "judged")
}
