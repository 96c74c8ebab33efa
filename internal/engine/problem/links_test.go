package problem

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLinks: links in a folder are followed to any place. Broken links are findings.
func TestLinks(t *testing.T) {
	shared := t.TempDir()
	write(t, filepath.Join(shared, "a.in"), "shared")
	if err := os.Mkdir(filepath.Join(shared, "headers"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(shared, "headers", "read.h"), "")
	write(t, filepath.Join(shared, "headers", "v.cpp"), "")
	dir := legacyPack.with(pack{
		"data/secret/2.in":          "->" + shared + "/a.in",
		"input_validators/v":        "->" + shared + "/headers",
		"submissions/wrong":         "->accepted",
		"problem.pdf":               "->../../nowhere.pdf",
		"submissions/accepted/b.py": "->b.py",
		"loop":                      "->.",
		"include/loop":              "->../include",
	}).folder(t)
	p, err := openTest(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want := []string{"include/loop is a link to a folder that contains it; it is ignored",
		"loop is a link to a folder that contains it; it is ignored",
		"problem.pdf is a broken link; it is ignored",
		"submissions/accepted/b.py is a broken link; it is ignored",
		"submissions/wrong/b.py is a broken link; it is ignored",
		"submissions/wrong: unknown folder; its submissions are run but have no expected result"}
	slices.Sort(p.Findings)
	if diff := cmp.Diff(want, p.Findings); diff != "" || p.NotPrograms != 2 {
		t.Errorf("%d are no programs, want 2; findings (-want +got)\n%s", p.NotPrograms, diff)
	}
	programs := []string{"submission submissions/accepted/a.cpp: cpp a.cpp",
		"submission submissions/time_limit_exceeded/slow: java Main.java",
		"submission submissions/wrong/a.cpp: cpp a.cpp", "submission submissions/wrong_answer/w.py: python w.py",
		"validator input_validators/check.py: python check.py", "validator input_validators/v: cpp v.cpp +read.h"}
	if diff := cmp.Diff(programs, programsOf(t, p)); diff != "" {
		t.Errorf("programs (-want +got)\n%s", diff)
	}
	for _, test := range p.Tests {
		if test.Name == "secret/2" {
			if text, err := os.ReadFile(test.Input); err != nil || string(text) != "shared" {
				t.Errorf("input of %s is %q, %v", test.Name, text, err)
			}
		}
	}
}

// TestBrokenLinks: a folder and its archive have the same findings. A link to the file of a test that is not made yet is
// not broken.
func TestBrokenLinks(t *testing.T) {
	broken := cmsPack.with(pack{"att/input.txt": "->../input/input1.txt", "att/output.txt": "->../output/output0.txt",
		"att/copied.txt":  "->../input/input0.txt",
		"testo/testo.pdf": "->en.pdf", "testo/loop.pdf": "->loop.pdf"})
	want := append(findingsOf(t, cmsPack.folder(t)), "testo/loop.pdf is a broken link; it is ignored",
		"testo/testo.pdf is a broken link; it is ignored")
	for _, name := range []string{broken.folder(t), broken.zip(t, "")} {
		if diff := cmp.Diff(want, findingsOf(t, name)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func findingsOf(t *testing.T, name string) []string {
	t.Helper()
	p, err := openTest(t, name)
	if err != nil {
		t.Fatal(err)
	}
	return p.Findings
}
