package tune

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// TestText compares the text plan of each machine with a golden file.
func TestText(t *testing.T) {
	for name, machine := range machines(t) {
		t.Run(name, func(t *testing.T) {
			k, o := machine()
			r, err := Plan(t.Context(), k.tuner(o).o)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := r.WriteText(&out); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > textWidth {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			golden := "../../../testdata/golden/tune-" + strings.NewReplacer(",", "", " ", "-").Replace(name) + ".txt"
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("the plan changed; if that is meant, run with -update and read the diff:\n%s", diff)
			}
		})
	}
}

func TestTextIsHarmless(t *testing.T) {
	r := Report{Action: "apply", Settings: []Setting{{ID: "kthreads", Values: []Value{
		{Name: "a\x1b[31m\n\u202eb", State: Stays, Reason: strings.Repeat("x", 300)}, {Path: "/x", State: Set},
	}}}}
	var out bytes.Buffer
	if err := r.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Errorf("%q", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line); n > textWidth+1 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestTextOfApply: values that need no change appear in the texts of apply and plan only.
func TestTextOfApply(t *testing.T) {
	for action, want := range map[string]string{
		"apply":   "values: nothing to do\n\nalready as wanted: thp\n",
		"plan":    "values: nothing to do\n\nalready as wanted: thp\n",
		"restore": "values: nothing to do\n",
		"status":  "values: nothing is applied\n",
	} {
		var out bytes.Buffer
		if err := (Report{Action: action, Settings: []Setting{{ID: "thp"}}}).WriteText(&out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", action, diff)
		}
	}
}

func TestListed(t *testing.T) {
	for want, names := range map[string][]string{
		"a, b":                        {"a", "b"},
		"a x2, b, c":                  {"a", "b", "a", "c"},
		"a, b, c, d, e, f":            {"a", "b", "c", "d", "e", "f"},
		"a, b, c, d, e, f and 1 more": {"a", "b", "c", "d", "e", "f", "g"},
		"/x/1/a and 2 more":           {"/x/1/a", "/x/2/a", "/x/3/a"},
		"/x/a, /x/b":                  {"/x/a", "/x/b"},
		"/x/a, /x/b and 3 more":       {"/x/a", "/x/b", "/x/c", "/x/d", "/x/e"},
	} {
		if got := listed(names); got != want {
			t.Errorf("%q: %q, want %q", names, got, want)
		}
	}
}
