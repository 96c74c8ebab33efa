package languages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/engine/languages"
)

const whole = `[x]
extensions = [".x"]
compile = ["xc", "{output}", "{sources}"]
run = ["{program}"]
version = ["xc"]
`

// TestLoadErrors checks that errors have the position of the mistake.
func TestLoadErrors(t *testing.T) {
	for _, tt := range []struct{ name, old, text, want string }{
		{"unknown key", "run =", "runs =", ":4: x.runs: unknown key; the file's head lists the keys"},
		{"no TOML", "[x]", "[x", ":1: expected ']' to close table name; correct the line"},
		{"limit", "version", "limits = { memory = \"much\" }\nversion",
			`: x.limits.memory: "much" is not a size above 0; write, for example, "64MiB"`},
		{"time", "version", "limits = { cpu_time = \"0s\" }\nversion",
			`: x.limits.cpu_time: "0s" is not a time above 0; write, for example, "30s"`},
		{"no output", "{output}", "out", ": x.compile: {output} is missing; say where the compiler writes the program"},
		{"no program", "{program}", "p", ": x.run: {program} is missing; say where the program goes"},
		{"extension", `".x"`, `"x"`, `: x.extensions: write, for example, [".c"]`},
		{"no extensions", "extensions = [\".x\"]", "", `: x.extensions: write, for example, [".c"]`},
		{"variant of nothing", "version", "variant_of = \"y\"\nversion",
			`: x.variant_of: "y" is not a language of this file, or is itself a variant; use another one`},
		{"variant of a variant", "version", "variant_of = \"x\"\nversion",
			`: x.variant_of: "x" is not a language of this file, or is itself a variant; use another one`},
		{"factor", "version", "factors = { time_ratio = nan }\nversion",
			": x.factors.time_ratio: NaN is out of range; send 0.1 to 100"},
		{"unknown factor", "version", "factors = { time = 2 }\nversion",
			":5: x.time: unknown key; the file's head lists the keys"},
		{"option", "version", "compile_options = [\"-O 2\"]\nversion",
			": x.compile_options: write options such as -O2, of up to 100 characters without spaces"},
		{"options without a place", "version", "compile_options = [\"-O2\"]\nversion", ": x.compile_options: compile " +
			"says by {options}, as a whole argument, where they go; write both or none of them"},
		{"a place without options", "\"{output}\"", "\"{options}\", \"{output}\"", ": x.compile_options: compile says by " +
			"{options}, as a whole argument, where they go; write both or none of them"},
		{"prepare without a place", "version", "prepare = [\"p\"]\nversion", ": x.prepare: environment says by " +
			"{prepared} where it writes, and where compile finds that; write both or none of them"},
		{"a place without prepare", "version", "environment = [\"P={prepared}\"]\nversion", ": x.prepare: environment " +
			"says by {prepared} where it writes, and where compile finds that; write both or none of them"},
		{"no group", "version", "entry_find = 'a'\nversion",
			`: x.entry_find: "a" is not a regular expression with a group (<nil>); write one`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l.toml")
			if err := os.WriteFile(path, []byte(strings.Replace(whole, tt.old, tt.text, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := languages.Load(path)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(path+tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestVariants checks that a variant inherits from its language what it does not set.
func TestVariants(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.toml")
	if err := os.WriteFile(path, []byte(whole+"limits = { cpu_time = \"1s\" }\n"+
		"factors = { time_ratio = 2 }\npackages = [\"p\"]\nneeds = [\"n\"]\n"+
		"[x2]\nvariant_of = \"x\"\ncompile = [\"xc\", \"-2\", \"{output}\"]\nneeds = []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := languages.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := c["x"]
	want.ID, want.Name, want.VariantOf, want.ByName = "x2", "x2", "x", true
	want.Compile, want.Needs = []string{"xc", "-2", "{output}"}, []string{}
	if diff := cmp.Diff(want, c["x2"], cmpopts.IgnoreUnexported(languages.Language{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVariantOptions checks that a variant allows the options of its language only if its command contains {options}.
func TestVariantOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.toml")
	text := strings.Replace(whole, `"{output}"`, `"{options}", "{output}"`, 1) + "compile_options = [\"-a\", \"-b\"]\n" +
		"[same]\nvariant_of = \"x\"\n[none]\nvariant_of = \"x\"\ncompile = [\"xc\", \"{output}\"]\n" +
		"[own]\nvariant_of = \"x\"\ncompile_options = [\"-c\"]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := languages.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for id, l := range c {
		got[id] = l.CompileOptions
	}
	want := map[string][]string{"x": {"-a", "-b"}, "same": {"-a", "-b"}, "none": nil, "own": {"-c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPackagesToInstall checks which packages are suggested for a host.
func TestPackagesToInstall(t *testing.T) {
	here := languages.Language{Version: []string{"true"}, Compile: []string{"true"}, Run: []string{"{program}"},
		Packages: []string{"coreutils"}}
	lacks := func(packages ...string) languages.Language {
		l := here
		l.Needs, l.Packages = []string{"/usr/*/nothing-of-the-kind"}, packages
		return l
	}
	c := languages.Catalogue{"here": here, "one": lacks("p", "q"), "two": lacks("q", "a"), "gone": lacks()}
	type result struct{ Packages, Without []string }
	for _, tt := range []struct {
		ids  []string
		want result
	}{
		{nil, result{[]string{"a", "p", "q"}, []string{"gone"}}},
		{[]string{"one", "here"}, result{[]string{"p", "q"}, nil}},
		{[]string{"here"}, result{}},
	} {
		var got result
		got.Packages, got.Without = c.Packages(tt.ids)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.ids, diff)
		}
	}
}

// TestEmptyPrograms checks that the start of each runtime can be measured.
func TestEmptyPrograms(t *testing.T) {
	catalogue, err := languages.Load("")
	if err != nil {
		t.Fatal(err)
	}
	for id, l := range catalogue {
		if l.Empty == "" {
			t.Errorf("language %s has no empty program", id)
		}
	}
}

func TestByExtension(t *testing.T) {
	c, err := languages.Load("")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{"a.py": {"python"}, "a.bash": {"bash"}, "/b/a.cc": {"cpp"}, "a": nil} {
		if diff := cmp.Diff(want, c.ByExtension(path)); diff != "" {
			t.Errorf("ByExtension(%q) (-want +got):\n%s", path, diff)
		}
	}
}
