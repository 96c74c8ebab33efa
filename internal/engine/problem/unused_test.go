package problem

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnusedFiles: a file that looks as if it were a test, or a part of one, and is not used is a finding: a submission
// passes what is not run.
func TestUnusedFiles(t *testing.T) {
	draft := pack{"problem.yaml": "problem_format_version: 2023-07\ntype: [scoring]\nname: x\n"}
	for _, tt := range []struct {
		name string
		base pack
		more pack
		want []string // names
	}{
		{"nothing", legacyPack, nil, nil},
		{"what people read", legacyPack, pack{"data/secret/2.hint": "", "data/secret/2.desc": "", "data/secret/2.png": "",
			"data/sample/1.interaction": "", "problem_statement/problem.en.tex": "", "attachments/a.zip": ""}, nil},
		{"settings", legacyPack, pack{"data/testdata.yaml": "", "data/secret/testdata.yaml": ""}, nil},
		{"answer without an input", legacyPack, pack{"data/secret/3.ans": ""}, []string{"data/secret/3.ans"}},
		{"upper case", legacyPack, pack{"data/secret/3.IN": "", "data/secret/3.ANS": ""},
			[]string{"data/secret/3.ANS", "data/secret/3.IN"}},
		{"another folder", legacyPack, pack{"data/Secret/3.in": "", "data/Secret/3.ans": ""},
			[]string{"data/Secret/3.ans", "data/Secret/3.in"}},
		{"not in a folder", legacyPack, pack{"data/stray.in": ""}, []string{"data/stray.in"}},
		{"another ending", legacyPack, pack{"data/secret/testdata.yml": "", "data/secret/2.in.bak": "",
			"data/secret/2.out": "", "data/secret/notes.txt": ""}, []string{"data/secret/2.in.bak", "data/secret/2.out",
			"data/secret/notes.txt", "data/secret/testdata.yml"}},
		{"folders of other formats", legacyPack, pack{"tests/01": "", "stray.txt": ""}, []string{"stray.txt",
			"tests/01"}},
		{"validator that is not asked for", legacyPack, pack{"output_validators/v.py": ""},
			[]string{"output_validators"}},
		{"settings of another version, next to those of this one", kattisPack.with(draft),
			pack{"data/secret/1/testdata.yaml": "range: 0 100"}, []string{"data/secret/1/testdata.yaml"}},
		{"outputs", kattisPack, pack{"data/valid_output/o.in": "", "data/valid_output/o.ans": "",
			"data/valid_output/o.out": ""}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, err := Open(t.Context(), tt.base.folder(t))
			if err != nil {
				t.Fatal(err)
			}
			after, err := Open(t.Context(), tt.base.with(tt.more).folder(t))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range after.Findings {
				if !slices.Contains(before.Findings, f) {
					got = append(got, f)
				}
			}
			var want []string
			for _, name := range tt.want {
				if name == "output_validators" {
					name += " is not used; problem.yaml does not say validation: custom"
				} else {
					name += " is not used"
				}
				want = append(want, name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	many := legacyPack.with(nil)
	for i := range 3 * maxUnused {
		many[fmt.Sprintf("data/secret/%d.txt", i)] = ""
	}
	p, err := Open(t.Context(), many.folder(t))
	if err != nil || len(p.Findings) != maxUnused+1 {
		t.Errorf("%d findings, want %d; %v", len(p.Findings), maxUnused+1, err)
	}
}
