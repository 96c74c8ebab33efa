package samples

import (
	"path/filepath"
	"testing"

	"judged/internal/testkit"
)

// Load builds the samples of testdata/samples.json for this processor in a folder that is removed when t ends,
// and returns them and the number of the others. The test is skipped (see testkit.Need) if there is no C
// compiler. A sample whose other requirements are missing is not built.
func Load(t testing.TB) (all []Sample, left int) {
	t.Helper()
	testkit.Need(t, testkit.GCC, testkit.StaticGCC)
	set, err := Read(filepath.Join(testkit.RepoRoot(t), "testdata", "samples.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, s := range set.Samples {
		if !s.FitsArch() {
			left++
			continue
		}
		if !testkit.Has(s.Needs...) {
			all = append(all, s)
			continue
		}
		if err := s.Build(t.Context(), set.Flags, dir); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all, left
}
