// Package testdata holds what of this folder an installed judged needs too.
package testdata

import (
	"embed"
	"io/fs"
)

// A folder with C sources cannot be a Go package, so the one above is.
//
//go:embed experiments submissions/measure/sieve.c
var all embed.FS

// ReadExperiment returns a program of the published experiments as source. The
// sieve is also a sample.
func ReadExperiment(name string) ([]byte, error) {
	if name == "sieve.c" {
		return fs.ReadFile(all, "submissions/measure/sieve.c")
	}
	return fs.ReadFile(all, "experiments/"+name)
}
