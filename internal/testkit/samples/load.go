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
	var keys [][]*Sample // samples that share a program are built one after the other
	byKey := map[string]int{}
	for i := range set.Samples {
		s := &set.Samples[i]
		if !s.FitsArch() || !testkit.Has(s.Needs...) {
			continue
		}
		key := s.key(set.Flags)
		if _, known := byKey[key]; !known {
			byKey[key] = len(keys)
			keys = append(keys, nil)
		}
		keys[byKey[key]] = append(keys[byKey[key]], s)
	}
	testkit.OnAllCPUs(len(keys), func(i int) {
		for _, s := range keys[i] {
			if err := s.Build(t.Context(), set.Flags, dir); err != nil {
				t.Error(err)
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	for _, s := range set.Samples {
		if s.FitsArch() {
			all = append(all, s)
		} else {
			left++
		}
	}
	return all, left
}
