package languages_test

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/engine"
	"judged/internal/engine/languages"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) {
	if initproc.IsInit() {
		initproc.Main()
	}
	var err error
	if shared, err = os.MkdirTemp("", "judged-languages-"); err != nil {
		panic(err)
	}
	code := testkit.Run(m)
	os.RemoveAll(shared)
	os.Exit(code)
}

// shared is the folder of compiled programs for tests of many languages, so that they prepare each language once.
var shared string

const smallLimits = `limits = { cpu_time = "3s", wall_time = "12s", memory = "512MiB", output = "16MiB" }` + "\n"

// open returns a compiler with an engine. Its languages are the built-in ones and "small", which is C++ with low
// limits.
func open(t testing.TB, folder string, cache units.Bytes) *languages.Compiler {
	t.Helper()
	return openWith(t, folder, cache, `[small]
extensions = [".cpp"]
compile = ["g++", "-O2", "-static", "-o", "{output}", "{sources}"]
run = ["{program}"]
version = ["g++", "--version"]
`+smallLimits)
}

// openWith returns a compiler with the built-in languages and those defined in text.
func openWith(t testing.TB, folder string, cache units.Bytes, text string) *languages.Compiler {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	c, err := languages.Load("")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "own.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := languages.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(c, own)
	eng, err := engine.Open(engine.Options{ClaimFolder: t.TempDir(), Width: 1, Count: 1, Root: sandbox.RootPrivate,
		BoxBytes: 64 << 20, BoxInodes: 64, UIDFirst: 1<<22 + os.Getpid()%4096*1000, UIDCount: 1000,
		Languages: engine.LanguageOptions{Catalogue: c, Folder: folder, CacheBytes: cache},
		Log:       slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	compiler, err := eng.Compiler()
	if err != nil {
		t.Fatal(err)
	}
	return compiler
}

// source returns a source with the given text; name may be empty.
func source(t testing.TB, language, name, text string) languages.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return languages.Source{Language: language, Files: []sandbox.File{{Name: name, Path: path}}}
}

func compile(t testing.TB, c *languages.Compiler, s languages.Source) languages.Result {
	t.Helper()
	r, err := c.Compile(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

const (
	goodC  = "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n"
	mebi   = 1 << 20
	plenty = 256 * mebi
)

// TestResults compiles a source in each language that is installed.
func TestResults(t *testing.T) {
	testkit.Need(t, testkit.Python, testkit.Java, testkit.Node, testkit.Mono)
	c := open(t, t.TempDir(), plenty)
	program := []sandbox.File{{Name: "program", Exec: true}}
	for _, tt := range []struct {
		language, name, text string
		want                 languages.Result
	}{
		{"c", "", goodC, languages.Result{Args: []string{"./program"}, Files: program}},
		{"cpp", "a.cc", "#include <iostream>\nint main() { std::cout << 1; }",
			languages.Result{Args: []string{"./program"}, Files: program}},
		{"java", "", "public final class Sum { public static void main(String[] a) { System.out.println(1); } }",
			languages.Result{Args: []string{"java", "-Xss" + api.StackMark + "k", "-jar", "./program"}, Files: program}},
		{"csharp", "", "class A { static void Main() { System.Console.WriteLine(1); } }",
			languages.Result{Args: []string{"mono", "./program"}, Files: program}},
		{"python", "", "print(1)\n",
			languages.Result{Args: []string{"python3", "./main.py"}, Files: []sandbox.File{{Name: "main.py"}}}},
		{"javascript", "a.js", "console.log(1)\n",
			languages.Result{Args: []string{"node", "--stack-size=" + api.StackMark, "./a.js"},
				Files: []sandbox.File{{Name: "a.js"}}}},
	} {
		t.Run(tt.language, func(t *testing.T) {
			got := compile(t, c, source(t, tt.language, tt.name, tt.text))
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(languages.Result{}),
				cmpopts.IgnoreFields(languages.Result{}, "Key"), cmpopts.IgnoreFields(sandbox.File{}, "Path")); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
	for language, text := range map[string]string{"c": "int main(void) { return x; }", "java": "class A { int }",
		"python": "def f(:\n", "javascript": "let 1;", "csharp": "class {"} {
		t.Run(language+" with an error", func(t *testing.T) {
			got := compile(t, c, source(t, language, "", text))
			if got.Failure != "the compiler exited with status 1" || got.Output == "" || len(got.Files) > 0 {
				t.Errorf("result = %+v; want status 1, messages and no files", got)
			}
		})
	}
}

// TestCompileOptions compiles a source with options. Each combination has its own cache entry.
func TestCompileOptions(t *testing.T) {
	c := open(t, t.TempDir(), plenty)
	s := source(t, "c", "", "#ifdef NDEBUG\n#error debug\n#endif\nint main(void) { int x; return 0; }\n")
	for _, tt := range []struct {
		options []string
		failure string
		output  string
		cached  bool
	}{
		{nil, "", "", false}, {[]string{"-Wall"}, "", "unused variable", false},
		{[]string{"-Wall"}, "", "unused variable", true},
		{[]string{"-O3", "-Wall"}, "", "unused variable", false}, {nil, "", "", true},
		{[]string{"-DNDEBUG"}, "the compiler exited with status 1", "#error debug", false},
	} {
		s.Options = tt.options
		r := compile(t, c, s)
		if r.Failure != tt.failure || !strings.Contains(r.Output, tt.output) || r.Cached != tt.cached {
			t.Errorf("%q: %+v", tt.options, r)
		}
	}
	for _, o := range []string{"-o", "", "-O2 ", "-DX", "@x", "-march=native"} {
		s.Options = []string{"-O2", o}
		_, err := c.Compile(t.Context(), s)
		if u := (*api.LanguageUnavailableError)(nil); !errors.As(err, &u) ||
			!strings.Contains(err.Error(), fmt.Sprintf("%q", o)) || !strings.Contains(err.Error(), "-O0, -O1") {
			t.Errorf("%q: %v", o, err)
		}
	}
}

// TestBuiltInOptions compiles an empty program with the options of each installed compiler: with each standard, and
// with all other options together.
func TestBuiltInOptions(t *testing.T) {
	c := open(t, t.TempDir(), plenty)
	catalogue, err := languages.Load("")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	seen := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(catalogue)) {
		l := catalogue[id]
		compiler := id + " with " + l.Compile[0]
		if l.VariantOf != "" {
			compiler = l.VariantOf + " with " + l.Compile[0]
		}
		if _, err := c.Find(id); err != nil || len(l.CompileOptions) == 0 || seen[compiler] {
			continue
		}
		seen[compiler] = true
		standard := func(o string) bool { return strings.HasPrefix(o, "-std=") }
		sets := [][]string{slices.DeleteFunc(slices.Clone(l.CompileOptions), standard)}
		for _, o := range l.CompileOptions {
			if standard(o) {
				sets = append(sets, []string{o})
			}
		}
		for _, options := range sets {
			s := source(t, id, "", l.Empty)
			s.Options = options
			group.Go(func() {
				if r := compile(t, c, s); r.Failure != "" {
					t.Errorf("%s %s: %s %s", id, options, r.Failure, r.Output)
				}
			})
		}
	}
	group.Wait()
}

// TestBombs compiles sources that attack the compiler, the host or the cache.
func TestBombs(t *testing.T) {
	const secret = "of the environment of judged"
	t.Setenv("JUDGED_SECRET", secret)
	c := open(t, t.TempDir(), plenty)
	for _, tt := range []struct {
		name, text, want string
		output           string // substring of the messages
	}{
		{"endless template", "template<int N> struct A { A<N+1> a; A<N+2> b; };\n" +
			"template<int N> int f() { return f<N*2+1>() + f<N*2+2>(); }\n#pragma GCC diagnostic ignored \"-Wall\"\n" +
			"constexpr unsigned long g(unsigned long n) { return n < 2 ? n : g(n-1) + g(n-2); }\n" +
			"template<unsigned long N> struct B { static constexpr unsigned long v = B<N-1>::v + B<(N>1?N-2:0)>::v; };\n" +
			"int main() { return f<0>(); }", "", ""},
		{"/dev/random", "#include \"/dev/random\"\nint main() {}", "", ""},
		{"/dev/zero", "#include \"/dev/zero\"\nint main() {}", "", ""},
		{"include of itself", "#include __FILE__\n#include __FILE__\nint main() {}", "", ""},
		{"macros", "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\nB(B(B(int a;))) int main() {}", "", ""},
		{"parentheses", "int a = " + strings.Repeat("(", 1<<20) + ";", "", ""},
		{"flood of messages", strings.Repeat("#warning x\n", 1<<18) + "int main() {}", "", "#warning"},
		{"section of a terabyte", "asm(\".skip 0x10000000000\"); int main() {}", "", ""},
		{"environment", "#include \"/proc/self/environ\"\nint main() { x }", "", ""},
		{"another process", "#include \"/proc/1/environ\"\nint main() {}", "", ""},
		{"large program", "char a[64 << 20] = {1}; int main() {}", "", ""},
		{"password file", "#include \"/etc/shadow\"\nint main() {}", "the compiler exited with status 1",
			"No such file"},
		{"incbin", "asm(\".incbin \\\"/etc/hostname\\\"\"); int main() {}", "the compiler exited with status 1",
			"file not found"},
		{"other submission", "#include \"../../../../tmp/source\"\nint main() {}", "the compiler exited with status 1",
			"No such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := compile(t, c, source(t, "small", "", tt.text))
			if got.Failure == "" || tt.want != "" && got.Failure != tt.want || !strings.Contains(got.Output, tt.output) {
				t.Errorf("result = %+v; want a failure %q with %q", got, tt.want, tt.output)
			}
			if strings.Contains(got.Output, secret) {
				t.Errorf("messages have the environment of judged: %s", got.Output)
			}
			whole := got.Size == units.Bytes(len(got.Output))
			if cut := got.Size > 1<<20; len(got.Output) > 1<<20 || whole == cut {
				t.Errorf("%d bytes of messages of %d", len(got.Output), got.Size)
			}
			t.Logf("%s", got.Failure)
		})
	}
}

// TestCache checks that the same sources are compiled only once, also after a restart, and that entries that have been
// unused for long are removed.
func TestCache(t *testing.T) {
	folder := t.TempDir()
	s, broken := source(t, "c", "", goodC), source(t, "c", "", "int main(void) { return x; }")
	t.Run("before", func(t *testing.T) {
		c := open(t, folder, plenty)
		var all [4]languages.Result
		var group sync.WaitGroup
		for i := range all {
			group.Go(func() { all[i] = compile(t, c, s) })
		}
		group.Wait()
		if list, err := filepath.Glob(folder + "/*/record.json"); err != nil || len(list) != 1 {
			t.Errorf("cache holds %v, %v; want one entry", list, err)
		}
		if r := compile(t, c, s); !r.Cached {
			t.Error("second compilation is not from the cache")
		}
		compile(t, c, broken)
		if r := compile(t, c, broken); !r.Cached || r.Failure == "" {
			t.Errorf("second compilation with an error = %+v; want it from the cache", r)
		}
	})
	t.Run("after a restart", func(t *testing.T) {
		c := open(t, folder, plenty)
		r := compile(t, c, s)
		if !r.Cached {
			t.Error("the entry did not survive a restart")
		}
		if _, err := os.Stat(r.Files[0].Path); err != nil {
			t.Error(err)
		}
	})
	t.Run("small", func(t *testing.T) {
		c := open(t, folder, mebi)
		used := compile(t, c, s)
		other := compile(t, c, source(t, "c", "", goodC+"\n"))
		other.Close()
		third := compile(t, c, source(t, "c", "", goodC+"\n\n"))
		for _, r := range []languages.Result{used, third} {
			if _, err := os.Stat(r.Files[0].Path); err != nil {
				t.Errorf("a program in use: %v", err)
			}
		}
		if _, err := os.Stat(other.Files[0].Path); err == nil {
			t.Error("a program that nobody uses is still there although the cache is full")
		}
	})
}

// TestMissing checks the errors for unavailable languages.
func TestMissing(t *testing.T) {
	c := open(t, t.TempDir(), plenty)
	_, err := c.Compile(t.Context(), source(t, "unheard-of", "", ""))
	want := `language "unheard-of": unknown; judged languages lists those that are known`
	if err == nil || err.Error() != want {
		t.Errorf("error = %v; want %s", err, want)
	}
	list, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Available == (s.Reason != "") || s.Available == (s.Version == "") {
			t.Errorf("status = %+v; want a version or a reason", s)
		}
	}
}
