package judgehost

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/engine"
	"judged/internal/sandbox"
	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// Scripts that follow the conventions of the protocol.
const (
	compileC = `#!/bin/sh
dest=$1 memory=$2
shift 2
exec gcc -x c -O2 -static -o "$dest" "$@" -lm
`
	// The program is a shell script that starts an interpreter in its folder.
	compilePython = `#!/bin/sh
dest=$1
shift 2
main=${ENTRY_POINT:-$1}
[ -n "$ENTRY_POINT" ] || echo "Info: detected entry_point: $main"
python3 -m py_compile "$@" || exit 1
rm -rf __pycache__
printf '#!/bin/sh\ncd "${0%%/*}"\nexec python3 %s\n' "$main" >"$dest"
chmod +x "$dest"
`
	// The program runs a class in its own folder, with the memory limit for the virtual machine.
	compileJava = `#!/bin/sh
dest=$1 memory=$2
shift 2
javac -d . "$@" || exit 1
main=$(java -cp "${0%/*}" Find "$PWD") || exit 1
echo "Info: detected entry_point: $main"
printf '#!/bin/sh\ncd "${0%%/*}"\nexec java -XX:+UseSerialGC -Xss8m -Xmx%dk %s\n' $((memory - 131072)) "$main" >"$dest"
chmod +x "$dest"
`
	findClass = `import java.nio.file.*;
public class Find {
    public static void main(String[] args) throws Exception {
        try (var all = Files.walk(Path.of(args[0]))) {
            for (Path p : (Iterable<Path>) all::iterator) {
                String name = Path.of(args[0]).relativize(p).toString();
                if (!name.endsWith(".class")) continue;
                name = name.substring(0, name.length() - 6).replace('/', '.');
                try (var l = new java.net.URLClassLoader(new java.net.URL[]{Path.of(args[0]).toUri().toURL()})) {
                    l.loadClass(name).getMethod("main", String[].class);
                    System.out.println(name);
                    return;
                } catch (NoSuchMethodException e) {
                }
            }
        }
        System.exit(1);
    }
}
`
	// compareC compares the first word of output and answer, and prints its arguments.
	compareC = `#include <stdio.h>
#include <string.h>
int main(int n, char **a) {
	char want[100] = "", got[100] = "", path[500];
	FILE *f = fopen(a[2], "r"), *m;
	fscanf(f, "%99s", want);
	scanf("%99s", got);
	snprintf(path, sizeof path, "%sjudgemessage.txt", a[3]);
	m = fopen(path, "w");
	fprintf(m, "want %s got %s", want, got);
	for (int i = 4; i < n; i++) fprintf(m, " arg %s", a[i]);
	fclose(m);
	if (!strcmp(got, "crash")) return 1;
	return strcmp(want, got) ? 43 : 42;
}
`
)

// openEngine opens an engine as the command does.
func openEngine(t *testing.T, w *world, count int) OwnSlots {
	t.Helper()
	config, err := Await(t.Context(), w.client(domserver.Password))
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(engine.Options{ClaimFolder: t.TempDir(), Width: 1, Count: count, Root: sandbox.RootHost,
		BoxBytes: 256 << 20, BoxInodes: 1024, UIDFirst: 1<<22 + os.Getpid()%4096*1000, UIDCount: 1000,
		Jury: config.JuryLimits(), Log: w.log()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return OwnSlots{e}
}

// nativeWorld is a world with languages and a checker.
type nativeWorld struct {
	*world
	c, python, java domserver.Language
}

func newNativeWorld(t *testing.T) *nativeWorld {
	w := &nativeWorld{world: newWorld(t)}
	script := func(text string, more ...domserver.File) domserver.Executable {
		return w.AddExecutable(append(more, domserver.File{Name: "run", Content: text, Exec: true},
			domserver.File{Name: "build", Content: noBuild, Exec: true})...)
	}
	w.compare = w.AddExecutable(domserver.File{Name: "compare.c", Content: compareC})
	w.c = domserver.Language{Extensions: []string{"c"}, Compile: script(compileC)}
	w.python = domserver.Language{Extensions: []string{"py"}, Compile: script(compilePython)}
	w.java = domserver.Language{Extensions: []string{"java"}, Compile: w.AddExecutable(
		domserver.File{Name: "run", Content: compileJava, Exec: true}, domserver.File{Name: "Find.java", Content: findClass},
		domserver.File{Name: "build", Content: "#!/bin/sh\njavac Find.java\n", Exec: true})}
	return w
}

// TestNative: the sandbox judges submissions as DOMjudge would.
func TestNative(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC, testkit.Python, testkit.Java)
	w := newNativeWorld(t)
	one := func(name, text string) []domserver.File { return []domserver.File{{Name: name, Content: text}} }
	const stdio = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
	for _, tt := range []struct {
		name     string
		language domserver.Language
		files    []domserver.File
		entry    string
		change   func(*domserver.Problem)
		result   string
		results  []string
	}{
		{name: "C", language: w.c, result: "correct", results: []string{"correct", "correct"},
			files: one("a.c", stdio+`int main(){int a;scanf("%d",&a);printf("%d\n",2*a);}`)},
		{name: "two sources", language: w.c, result: "correct", results: []string{"correct", "correct"},
			files: append(one("a.c", stdio+`int f(int);int main(){int a;scanf("%d",&a);printf("%d\n",f(a));}`),
				one("b.c", "int f(int a){return 2*a;}")...)},
		{name: "compile error", language: w.c, result: "compiler-error", results: []string{"", ""},
			files: one("a.c", "int main({")},
		{name: "wrong", language: w.c, result: "wrong-answer", results: []string{"correct", "wrong-answer"},
			files: one("a.c", stdio+`int main(){puts("2");}`)},
		{name: "no output", language: w.c, result: "no-output", results: []string{"no-output", ""},
			files: one("a.c", "int main(){return 0;}")},
		{name: "crash", language: w.c, result: "run-error", results: []string{"run-error", ""},
			files: one("a.c", "int main(){*(volatile int*)8=1;}")},
		{name: "loop", language: w.c, result: "timelimit", results: []string{"timelimit", ""},
			files: one("a.c", "int main(){for(;;);}"), change: func(p *domserver.Problem) { p.TimeLimit = 0.3 }},
		{name: "sleep beyond all limits", language: w.c, result: "timelimit", results: []string{"timelimit", ""},
			files:  one("a.c", stdio+"int main(){sleep(100);}"),
			change: func(p *domserver.Problem) { p.TimeLimit = 0.3 }},
		{name: "sleep beyond the time limit", language: w.c, result: "wrong-answer",
			results: []string{"correct", "wrong-answer"},
			files:   one("a.c", stdio+`int main(){usleep(900000);puts("2");}`),
			change:  func(p *domserver.Problem) { p.TimeLimit = 0.5 }},
		{name: "memory", language: w.c, result: "run-error", results: []string{"run-error", ""},
			files:  one("a.c", stdio+"int main(){for(volatile char*p=malloc(200<<20);;p+=4096)*p=1;}"),
			change: func(p *domserver.Problem) { p.MemoryKB = 65536 }},
		{name: "too much output", language: w.c, result: "output-limit", results: []string{"output-limit", ""},
			files:  one("a.c", stdio+`int main(){for(int i=0;i<1000000;i++)puts("1234567");}`),
			change: func(p *domserver.Problem) { p.OutputKB = 1024 }},
		{name: "Python", language: w.python, result: "correct", results: []string{"correct", "correct"},
			files: append(one("a.py", "import b\nprint(b.f(int(input())))\n"), one("b.py", "def f(x): return 2*x\n")...)},
		{name: "Python with an entry point", language: w.python, entry: "b.py", result: "correct",
			results: []string{"correct", "correct"},
			files:   append(one("a.py", "print(0)\n"), one("b.py", "print(2*int(input()))\n")...)},
		{name: "Python syntax", language: w.python, result: "compiler-error", results: []string{"", ""},
			files: one("a.py", "print(\n")},
		{name: "Java in a package", language: w.java, result: "correct", results: []string{"correct", "correct"},
			files: one("Main.java", `package p.q;
public class Main { static class In { int v; }
  public static void main(String[] a) { In i = new In(); i.v = new java.util.Scanner(System.in).nextInt();
    System.out.println(2 * i.v); } }`)},
	} {
		t.Run(tt.name, func(t *testing.T) { w.native(t, tt.language, tt.files, tt.entry, tt.change, tt.result, tt.results) })
	}
}

func (w *nativeWorld) native(t *testing.T, l domserver.Language, files []domserver.File, entry string,
	change func(*domserver.Problem), result string, want []string) {
	own := *w.world
	own.t = t
	p := own.problem()
	p.Tests = []domserver.Testcase{w.AddTestcase("1\n", "2\n"), w.AddTestcase("21\n", "42\n")}
	p.TimeLimit = 2
	if change != nil {
		change(&p)
	}
	id := w.Submit(domserver.Submission{Language: l, Problem: p, Files: files, EntryPoint: entry})
	stop := own.start(openEngine(t, &own, 1))
	own.await(id)
	stop()
	j := w.Judging(id)
	if j.Result != result {
		t.Errorf("result %q, want %q; %+v %+v", j.Result, result, j.Compiled, w.Errors())
	}
	if diff := cmp.Diff(want, results(j)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for i, x := range j.Tasks {
		for _, r := range x.Results {
			t.Logf("test %d:\n%s\n%s", i+1, r.Values["output_system"], strings.ReplaceAll(r.Values["metadata"], "\n", " "))
		}
	}
	own.clean()
}
