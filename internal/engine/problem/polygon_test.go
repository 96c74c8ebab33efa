package problem

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLineEndings reads a package that was made on Windows: its validator, checker and submissions see LF.
func TestLineEndings(t *testing.T) {
	long := strings.Repeat("x", 4095) // the CR is the last byte of a buffer of package bufio
	dir := polygonPack.with(pack{"tests/01": "1\r\n\r\n2", "tests/01.a": long + "\r\n" + long + "\rx\r\n",
		"tests/02": "1\n", "tests/02.a": "1\r2\r", "tests/03": "1\r\r\n2\n"}).folder(t)
	p, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got := map[string]string{}
	for _, x := range p.Tests {
		for name, path := range map[string]string{x.Name: x.Input, x.Name + ".a": x.Answer} {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got[name] = string(b)
		}
	}
	want := map[string]string{"01": "1\n\n2", "01.a": long + "\n" + long + "\rx\n", "02": "1\n", "02.a": "1\r2\r",
		"03": "1\r\n2\n", "03.a": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"files of tests with CRLF at the end of lines: 3; they are judged with LF"},
		p.Findings); diff != "" {
		t.Errorf("findings (-want +got)\n%s", diff)
	}
	if b, err := os.ReadFile(dir + "/tests/01"); err != nil || string(b) != "1\r\n\r\n2" {
		t.Errorf("the setter's own file is now %q, %v", b, err)
	}
}
