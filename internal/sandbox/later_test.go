package sandbox

import (
	"testing"

	"judged/internal/testkit"
)

// TestOpenedLater: the locale that LANG names is available, and so are the files that library functions open at
// run time, for static and dynamic programs.
func TestOpenedLater(t *testing.T) {
	testkit.Need(t, testkit.StaticGCC, testkit.Python)
	const all = "C.UTF-8 1 09 root\n"
	own := func(static bool) Spec {
		return Spec{Args: []string{"./later"}, Files: []File{{Name: "later",
			Path: testkit.CompileC(t, "testdata/later.c", static), Exec: true}}, Limits: limits()}
	}
	python := Spec{Args: []string{"python3", "-c",
		"import zoneinfo, locale; print(locale.setlocale(locale.LC_ALL, ''), " +
			"zoneinfo.ZoneInfo('Asia/Tokyo'))"}, Limits: limits()}
	for _, tt := range []struct {
		name string
		root Root
		spec Spec
		want string
	}{
		{"static", RootPrivate, own(true), all},
		{"dynamic", RootPrivate, own(false), all},
		{"python", RootPrivate, python, "C.UTF-8 Asia/Tokyo\n"},
		{"static", RootHost, own(true), all},
		{"dynamic", RootHost, own(false), all},
		{"static", RootMinimal, own(true), "C 0 00 nobody\n"},
	} {
		t.Run(tt.name+" "+string(tt.root), func(t *testing.T) {
			l := newLab(t, func(o *Options) { o.Root = tt.root })
			if r, out := l.run(t, tt.spec); out != tt.want {
				t.Errorf("%q, want %q: %+v", out, tt.want, r)
			}
		})
	}
}
