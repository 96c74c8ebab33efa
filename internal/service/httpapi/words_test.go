package httpapi

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine/checker"
)

var update = flag.Bool("update", false, "write the descriptions of package api into openapi.json")

// word is a schema whose values package api documents.
type word struct {
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
}

// TestOpenAPIExplainsWords compares openapi.json with the catalogue.
func TestOpenAPIExplainsWords(t *testing.T) {
	var d struct {
		Components struct {
			Schemas struct {
				Timing struct{ Properties map[string]word }
				Fault  word
				Run    struct {
					Properties struct{ Disturbed struct{ Items word } }
				}
			}
		}
	}
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	got := map[string]word{"cause": d.Components.Schemas.Run.Properties.Disturbed.Items}
	want := map[string]word{"cause": causeWord()}
	for _, l := range api.WordLists() {
		got[l.Member], want[l.Member] = d.Components.Schemas.Timing.Properties[l.Member], listWord(l)
	}
	got["fault"] = d.Components.Schemas.Fault
	if diff := cmp.Diff(want, got); diff != "" && *update {
		replaceWords(t, got, want)
	} else if diff != "" {
		t.Errorf("run with -update (-catalogue +openapi.json):\n%s", diff)
	}
}

// TestCheckersInOpenAPI checks that the document lists the checkers of judged.
func TestCheckersInOpenAPI(t *testing.T) {
	var d struct {
		Components struct {
			Schemas struct {
				Checker struct {
					Properties struct {
						Kind struct{ Description, Pattern string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	kind := d.Components.Schemas.Checker.Properties.Kind
	if want := checker.Usage() + "; default " + checker.DefaultKind + ". Or the protocol of a program: "; !strings.HasPrefix(
		kind.Description, want) {
		t.Errorf("description %q, want %q", kind.Description, want)
	}
	pattern := regexp.MustCompile(kind.Pattern)
	for _, p := range api.CheckerProtocols() {
		if !strings.Contains(kind.Description, string(p)+" (") || !pattern.MatchString(string(p)) {
			t.Errorf("the protocol %s is not in the description %q, or not in the pattern %s", p, kind.Description,
				kind.Pattern)
		}
	}
	for _, k := range checker.Kinds() {
		if !pattern.MatchString(k.Example) {
			t.Errorf("the pattern refuses %q", k.Example)
		}
	}
	if pattern.MatchString("frob") {
		t.Error("the pattern matches anything")
	}
}

func causeWord() word {
	w := word{Description: "What disturbed the run:\n"}
	for _, e := range api.Catalogue() {
		w.Enum = append(w.Enum, string(e.Cause))
		w.Description += fmt.Sprintf("\n- `%s`: %s It lengthens %s. ", e.Cause, e.Means, e.Adds)
		if e.Explains() {
			w.Description += "It explains a bounded amount of time."
		} else {
			w.Description += "It explains nothing, because a program can produce it: " + e.SelfMade + "."
		}
	}
	return w
}

func listWord(l api.WordList) word {
	w := word{Description: l.About + ":\n"}
	for _, m := range l.Words {
		w.Enum = append(w.Enum, m.Word)
		w.Description += fmt.Sprintf("\n- `%s`: %s", m.Word, m.Means)
	}
	return w
}

// replaceWords updates the texts that differ without changing the layout of the document. A schema without a
// description needs a manual one first.
func replaceWords(t *testing.T, got, want map[string]word) {
	t.Helper()
	text := string(openAPI)
	for name := range want {
		if !slices.Equal(got[name].Enum, want[name].Enum) ||
			strings.Count(text, quoted(t, got[name].Description)) != 1 {
			t.Errorf("%s: change the enum by hand, and give the schema a description that no other has", name)
		}
		text = strings.Replace(text, quoted(t, got[name].Description), quoted(t, want[name].Description), 1)
	}
	if err := os.WriteFile("openapi.json", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
