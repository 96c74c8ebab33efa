package languages_test

import (
	"archive/zip"
	"io"
	"strings"
	"testing"

	"judged/internal/engine/languages"
	"judged/internal/testkit"
)

const javaMain = "public static void main(String[] arguments) {}"

// TestJavaEntry compiles sources whose start class is not public, not named like the file, or elsewhere.
func TestJavaEntry(t *testing.T) {
	testkit.Need(t, testkit.Java)
	c := open(t, t.TempDir(), plenty)
	for _, tt := range []struct{ name, file, text, want string }{
		{"public", "", "public class Task { " + javaMain + " }", "Task"},
		{"not public", "", "class Solver { " + javaMain + " }", "Solver"},
		{"package", "a.java", "package contest.first;\npublic class Task { " + javaMain + " }", "contest.first.Task"},
		{"comment", "", "/*\npublic class Template {}\n*/\npublic class Task { " + javaMain + " }", "Task"},
		{"text block", "", "class Task { String s = \"\"\"\npublic class No {\n\"\"\"; " + javaMain + " }", "Task"},
		{"nested public type", "", "class Task { public enum Side { LEFT }\n" + javaMain + " }", "Task"},
		{"annotation", "", "@Deprecated public class Task { " + javaMain + " }", "Task"},
		{"sealed", "", "public sealed class Task permits Sub { " + javaMain + " }\nfinal class Sub extends Task {}",
			"Task"},
		{"record", "", "record Point(int x) { " + javaMain + " }", "Point"},
		{"enum", "", "enum Only { X; " + javaMain + " }", "Only"},
		{"interface", "", "interface Runner { static void main(String[] a) {} }", "Runner"},
		{"variable arguments", "", "class Task { public static void main(final String... a) {} }", "Task"},
		{"not ASCII", "", "public class Úloha { " + javaMain + " }", "Úloha"},
		{"byte order mark", "Main.java", "\ufeffpublic class Main { " + javaMain + " }", "Main"},
		{"name of an option", "-d.java", "public class Task { " + javaMain + " }", "Task"},
		{"public one without main", "first.java", "public class first {}\nclass Real { " + javaMain + " }", "Real"},
		{"called like the file", "two.java", "class one { " + javaMain + " }\nclass two { " + javaMain + " }", "two"},
		{"first in the source", "", "class Zero { " + javaMain + " }\nclass Alpha { " + javaMain + " }", "Zero"},
		{"of a nested class", "", "class Task { static class Inner { " + javaMain + " } }", "Task$Inner"},
		{"long name", "", "class " + strings.Repeat("Long", 30) + " { " + javaMain + " }", strings.Repeat("Long", 30)},
		{"private", "", "class Task { private static void main(String[] a) {} }", ""},
		{"other arguments", "", "class Task { public static void main(int[] a) {} }", ""},
		{"no class", "", "// nothing", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := compile(t, c, source(t, "java", tt.file, tt.text))
			if tt.want == "" {
				if want := "no class has a method public static void main(String[])"; r.Failure != want {
					t.Errorf("failure %q, want %q", r.Failure, want)
				}
				return
			}
			if r.Failure != "" {
				t.Fatalf("%s: %s", r.Failure, r.Output)
			}
			if got := mainClass(t, r); got != tt.want {
				t.Errorf("starts %q, want %q", got, tt.want)
			}
		})
	}
}

// mainClass returns the start class in the manifest of a compiled program.
func mainClass(t *testing.T, r languages.Result) string {
	t.Helper()
	jar, err := zip.OpenReader(r.Files[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	defer jar.Close()
	f, err := jar.Open("META-INF/MANIFEST.MF")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	unfolded := strings.ReplaceAll(string(text), "\r\n ", "")
	_, line, _ := strings.Cut(unfolded, "Main-Class: ")
	name, _, _ := strings.Cut(line, "\r\n")
	return name
}
