package problem

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// lines returns n numbered lines in a format.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// many returns n files with the same content.
func many(n int, format, content string) pack {
	p := pack{}
	for i := range n {
		p[fmt.Sprintf(format, i)] = content
	}
	return p
}

// polygonWith returns a Polygon package with more elements before an end tag.
func polygonWith(end, more string) pack {
	return polygonPack.with(pack{"problem.xml": strings.Replace(polygonPack["problem.xml"], end, more+end, 1)})
}

// TestBounds checks that packages that would be expensive to read are refused. Each of them took seconds to hours.
func TestBounds(t *testing.T) {
	yaml := legacyPack["problem.yaml"]
	for _, tt := range []struct {
		name string
		pack pack
		want string // part of the error
	}{
		{"unknown keys", legacyPack.with(pack{"problem.yaml": yaml + lines(60_000, "k%d:\n")}), "more than 500 keys"},
		{"nested unknown keys", legacyPack.with(pack{"problem.yaml": yaml + "x:\n" + lines(60_000, " k%d:\n")}),
			"more than 500 keys"},
		{"merged keys", legacyPack.with(pack{"problem.yaml": yaml + "x: &x {" + lines(400, "k%d: 1, ") + "}\n" +
			"constants:\n  <<: [" + strings.Repeat("*x, ", 10_000) + "]\n"}), "more than 100 aliases"},
		{"settings of tests", kattisPack.with(many(20, "data/secret/1/%d.in", "")).
			with(many(20, "data/secret/1/%d.ans", "")).
			with(many(20, "data/secret/1/%d.yaml", "hint: "+strings.Repeat("x", 900_000))), "together"},
		{"globs", legacyPack.with(pack{"submissions/submissions.yaml": lines(400, "a%d{b,c,d}: {}\n")}),
			"more than 1000 globs"},
		{"alternatives", legacyPack.with(pack{"submissions/submissions.yaml": `"` + strings.Repeat("{a,b}",
			20) + `": {}`}),
			"more than 1000 globs"},
		{"submissions", legacyPack.with(many(1001, "submissions/accepted/%d.py", "")), "at most 1000"},
		{"solutions", polygonWith("</solutions>", strings.Repeat(
			`<solution tag="main"><source path="solutions/a.py" type="python.3"/></solution>`, 1000)), "at most 1000"},
		{"headers", polygonPack.with(many(1001, "files/%d.h", "")), "at most 1000"},
		{"subtasks of CMS", many(100, "input/input%d.txt", "").with(many(100, "output/output%d.txt", "")).with(pack{
			"task.yaml": "n_input: 100\nscore_type: GroupMin\nscore_type_parameters:\n" +
				strings.Repeat("- [1, .*]\n", 50_000)}),
			"50000 groups for 100 tests"},
		{"tests of CMS, times 4 is 2^64", pack{"task.yaml": "n_input: 4611686018427387904\nscore_type: GroupMin\n" +
			"score_type_parameters: [[1, x], [1, x], [1, x], [1, x]]\n"}, "use 1 to 20000"},
		{"dependencies of sinol-make", sinolPack.with(pack{"config.yml": "sinol_task_id: sum\nsubtask_dependencies: {2: [" +
			strings.Repeat("1,", 100_000) + "]}\n"}), "group 2 has 100000"},
		{"elements", polygonWith("</judging>", strings.Repeat("<a/>", 500_001)), "too many elements"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openTest(t, tt.pack.folder(t))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %.300v, want an error with %q", err, tt.want)
			}
		})
	}
}

// TestCrowdedFolder opens a folder with too many files.
func TestCrowdedFolder(t *testing.T) {
	dir := legacyPack.folder(t)
	tests := filepath.Join(dir, "data/secret")
	for i := range maxEntries + 1 { // links are created in a tenth of the time of files
		if err := os.Link(filepath.Join(dir, "problem.yaml"), filepath.Join(tests, fmt.Sprintf("x%d.in", i))); err != nil {
			t.Fatal(err)
		}
	}
	_, ofPackage := openTest(t, dir)
	_, ofTests := OpenTests(t.Context(), tests, false)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{ofPackage, "more than 20000 entries; remove files that are not part of the problem"},
		{ofTests, "more than 20000 entries; give the folder with the tests"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("error %v, want one with %q", tt.err, tt.want)
		}
	}
}

// TestFindingsAreBounded checks that findings are unique and that their number is limited.
func TestFindingsAreBounded(t *testing.T) {
	testsets := polygonWith("</judging>", lines(50_000, `<testset name="%d"/>`)).folder(t)
	flags := legacyPack.with(pack{"data/testdata.yaml": "grader_flags: " + lines(50_000, "t%d ")}).folder(t)
	for name, path := range map[string]string{"testsets": testsets, "flags": flags} {
		t.Run(name, func(t *testing.T) {
			p, err := openTest(t, path)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(p.Findings); n != maxFindings+1 || p.Findings[maxFindings] != "further findings are omitted" {
				t.Errorf("%d findings, the last one %q", n, p.Findings[n-1])
			}
		})
	}
	same, err := openTest(t, legacyPack.with(pack{
		"data/testdata.yaml": "grader_flags: " + strings.Repeat("x ", 1000)}).folder(t))
	if err != nil || strings.Count(strings.Join(same.Findings, "\n"), "grader_flags: x") != 1 {
		t.Errorf("findings %q, %v", same.Findings, err)
	}
}

// countdown is a context that is done after a number of calls of Err.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelled checks that a canceled context stops the reading of a package at any point, and that the context is
// checked at least once for each part.
func TestCancelled(t *testing.T) {
	const n = 10
	files := legacyPack.with(many(n, "data/secret/x%d.in", "1")).with(many(n, "data/secret/x%d.ans", "1"))
	groups := kattisPack.with(many(n, "data/secret/1/%d.in", "")).with(many(n, "data/secret/1/%d.ans", "")).
		with(many(n, "data/secret/1/%d.yaml", "hint: x"))
	patterns := legacyPack.with(pack{"submissions/submissions.yaml": lines(n, "a%d: {}\n")})
	xml := polygonWith("</judging>", strings.Repeat("<a/>", 10_000))
	open := func(ctx context.Context, path string) error {
		p, err := Open(ctx, path)
		if err == nil {
			err = p.Close()
		}
		return err
	}
	tests := func(ctx context.Context, path string) error {
		s, err := OpenTests(ctx, path, false)
		if err == nil {
			err = s.Close()
		}
		return err
	}
	for _, tt := range []struct {
		name  string
		open  func(context.Context, string) error
		path  string
		least int64 // minimum number of checks
	}{
		{"folder", open, files.folder(t), 4 * n}, {"ZIP", open, files.zip(t, ""), 6 * n},
		{"tar", open, files.tar(t, false), 6 * n}, {"gzip", open, files.tar(t, true), 4 * n},
		{"settings", open, groups.folder(t), 8 * n}, {"globs", open, patterns.folder(t), n},
		{"XML", open, xml.folder(t), 10}, {"tests", tests, files.without("problem.yaml").zip(t, ""), 2 * n},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const enough = 1 << 40
			ctx := &countdown{Context: t.Context()}
			ctx.left.Store(enough)
			if err := tt.open(ctx, tt.path); err != nil {
				t.Fatal(err)
			}
			checks := enough - ctx.left.Load()
			if checks < tt.least {
				t.Errorf("the context was looked at %d times, want at least %d", checks, tt.least)
			}
			for at := int64(0); at < checks; at += max(checks/7, 1) {
				ctx.left.Store(at)
				if err := tt.open(ctx, tt.path); !errors.Is(err, context.Canceled) {
					t.Errorf("done after %d of %d: got %v", at, checks, err)
				}
			}
		})
	}
}
