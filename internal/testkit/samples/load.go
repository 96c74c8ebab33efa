package samples

import (
	"path/filepath"
	"testing"

	"judged/internal/testkit"
)

// Load returns the samples of testdata/samples.json that are meant for this
// processor, built in a folder that goes when t ends, and how many are not
// meant for it. The test is skipped (see testkit.Need) where there is no
// C compiler; a sample whose other needs are missing is not built.
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
