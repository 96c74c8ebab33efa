package runtimes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// withoutSample are specials without a sample: tests have their programs elsewhere, such as in package languages, or the
// test host lacks them.
var withoutSample = []string{"perl", "ruby", "php", "lua", "pypy3", "swipl", "escript", "elixir", "Rscript",
	"octave-cli", "dotnet", "sh", "dash", "bash", "busybox"}

// TestSpecialsHaveSamples checks that testdata/samples.json has an accepted program for each interpreter in specials.
func TestSpecialsHaveSamples(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/samples.json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Samples []struct {
			Verdict string
			Command []string
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, s := range specials {
		sampled := false
		for _, sample := range list.Samples {
			sampled = sampled || sample.Verdict == "AC" && len(sample.Command) > 0 &&
				s.is(filepath.Base(sample.Command[0]))
		}
		if sampled == slices.Contains(withoutSample, s.prefix) {
			t.Errorf("interpreter %s: has a sample: %t; add one to testdata/samples.json, or correct withoutSample",
				s.prefix, sampled)
		}
	}
}
