package problem

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSettingsOfTests: a test has its own settings, and otherwise those of its group.
func TestSettingsOfTests(t *testing.T) {
	kattis := kattisPack.with(pack{
		"input_validators/a.py": "", "input_validators/b/b.py": "",
		"data/secret/1/test_group.yaml": "max_score: 30\nargs: [of group]\noutput_validator_args: [g, 1e-6]\n" +
			"input_validator_args: [all]\nfull_feedback: true\ndescription: d\n",
		"data/secret/1/a.yaml": "args: []\noutput_validator_args: []\ninput_validator_args: {a: [x], b: [y, z]}\n" +
			"hint: h\nfull_feedback: false\ndescription: d\n",
		"data/secret/1/a.files/data.txt": "", "data/secret/1/a.files/more.in": "",
		"data/sample/s.out":                  "",
		"data/secret/2/c.yaml":               "input_validator_args: {a.py: [only]}\n",
		"data/invalid_input/test_group.yaml": "input_validator_args: [i]\n",
		"data/invalid_output/o.in":           "", "data/invalid_output/o.ans": "", "data/invalid_output/o.out": "",
		"data/invalid_output/o.yaml": "output_validator_args: [o]\n",
	}).without("output_visualizer/v.py", "submissions/partial/p.py", "submissions/submissions.yaml")
	legacy := legacyPack.with(pack{
		"problem.yaml":              "name: x\nvalidation: custom\nvalidator_flags: own\n",
		"data/testdata.yaml":        "input_validator_flags: low 1\noutput_validator_flags: {v: a b, w: c}\n",
		"data/secret/testdata.yaml": "input_validator_flags: ''\n", "data/invalid_inputs/i.in": "",
		"output_validators/v/v.py": ""})
	named := legacyPack.with(pack{"problem.yaml": "name: x\nvalidation: custom\n", "output_validators/v/v.py": "",
		"data/testdata.yaml": "input_validator_flags: {name: check, flags: low 1}\n" +
			"output_validator_flags: {flags: a b}\n",
		"data/secret/testdata.yaml": "input_validator_flags: {name: other, flags: x}\n"})
	const v1, v2 = "input_validators/a.py", "input_validators/b"
	for _, tt := range []struct {
		name     string
		pack     pack
		want     []Test
		findings []string
	}{
		{"2025-09", kattis, []Test{
			{Name: "sample/s"},
			{Name: "secret/1/a", CheckerArgs: []string{}, Args: []string{},
				Files:         []File{{Name: "data.txt", Path: "a.files"}, {Name: "more.in", Path: "a.files"}},
				ValidatorArgs: map[string][]string{v1: {"x"}, v2: {"y", "z"}}},
			{Name: "secret/1/more/b", CheckerArgs: []string{"g", "1e-6"}, Args: []string{"of group"},
				ValidatorArgs: map[string][]string{v1: {"all", "of group"}, v2: {"all", "of group"}}},
			{Name: "secret/2/c", ValidatorArgs: map[string][]string{v1: {"only"}}},
			{Name: "secret/2/d"},
			{Name: "invalid_input/i", ValidatorArgs: map[string][]string{v1: {"i"}, v2: {"i"}}},
			{Name: "sample/s"},
			{Name: "invalid_output/o", CheckerArgs: []string{"o"}},
		}, nil},
		{"legacy", legacy, []Test{
			{Name: "sample/1", CheckerArgs: []string{"a", "b"},
				ValidatorArgs: map[string][]string{"input_validators/check.py": {"low", "1"}}},
			{Name: "secret/10", CheckerArgs: []string{"a", "b"}},
			{Name: "secret/2", CheckerArgs: []string{"a", "b"}},
			{Name: "invalid_inputs/i", CheckerArgs: []string{"a", "b"},
				ValidatorArgs: map[string][]string{"input_validators/check.py": {"low", "1"}}},
		}, []string{`data/testdata.yaml: output_validator_flags: unknown validator "w"`}},
		{"legacy with keys for a name", named, []Test{
			{Name: "sample/1", CheckerArgs: []string{"a", "b"},
				ValidatorArgs: map[string][]string{"input_validators/check.py": {"low", "1"}}},
			{Name: "secret/10", CheckerArgs: []string{"a", "b"}},
			{Name: "secret/2", CheckerArgs: []string{"a", "b"}},
		}, []string{`data/secret/testdata.yaml: input_validator_flags: unknown validator "other"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, tt.pack.folder(t))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			got := slices.Concat(p.Tests, p.InvalidInputs)
			for _, o := range p.Outputs {
				got = append(got, o.Test)
			}
			for i := range got {
				for j, f := range got[i].Files {
					got[i].Files[j].Path = filepath.Base(filepath.Dir(f.Path))
				}
				if !strings.HasSuffix(got[i].Input, got[i].Name+".in") {
					t.Errorf("input of %s: %s", got[i].Name, got[i].Input)
				}
				got[i].Input, got[i].Answer = "", ""
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.findings, p.Findings); diff != "" {
				t.Errorf("findings (-want +got)\n%s", diff)
			}
		})
	}
}

// TestGroupsNeedSettings: in 2025-09, a folder without settings is not a group, and its tests belong to data/secret.
func TestGroupsNeedSettings(t *testing.T) {
	for _, tt := range []struct {
		name string
		more pack
		want []string
	}{
		{"no folder has settings", nil, []string{`"" sum by_score unbounded [] continue=true`,
			`"secret" sum by_score 100 [] continue=true`}},
		{"each has", pack{"data/secret/a/test_group.yaml": "max_score: 40",
			"data/secret/b/test_group.yaml": "max_score: 60"},
			[]string{`"" sum by_score unbounded [] continue=true`, `"secret" sum by_score 100 [] continue=true`,
				`"secret/a" pass-fail by_score 40 [] continue=false`, `"secret/b" pass-fail by_score 60 [] continue=false`}},
	} {
		p, err := openTest(t, pack{"problem.yaml": "problem_format_version: 2025-09\nname: x\ntype: scoring\n",
			"data/secret/a/1.in": "", "data/secret/a/1.ans": "", "data/secret/b/1.in": "", "data/secret/b/1.ans": "",
			"submissions/accepted/a.py": ""}.with(tt.more).folder(t))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, summarize(p).Groups); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

// TestShownAnswers: the checker must accept the output of a sample that people see: its .out or else its answer.
func TestShownAnswers(t *testing.T) {
	base := pack{"problem.yaml": "problem_format_version: 2025-09\nname: x\n",
		"data/sample/1.in": "", "data/sample/1.ans": "",
		"data/secret/2.in": "", "data/secret/2.ans": "", "output_validator/v.py": "", "submissions/accepted/a.py": ""}
	for _, tt := range []struct {
		name string
		pack pack
		want []string
	}{
		{"the answer", base, []string{"sample/1.ans"}},
		{"an output", base.with(pack{"data/sample/1.out": "", "data/secret/2.out": ""}),
			[]string{"sample/1.out", "secret/2.out"}},
		{"another text", base.with(pack{"data/sample/1.ans.statement": ""}), nil},
		{"an interaction", base.with(pack{"data/sample/1.interaction": ""}), nil},
		{"the default comparison", base.without("output_validator/v.py"), nil},
		{"legacy", base.with(pack{"problem.yaml": "validation: custom\n", "output_validators/v.py": ""}).without(
			"output_validator/v.py"), nil},
		{"interactive", base.with(pack{"problem.yaml": base["problem.yaml"] + "type: interactive\n"}), nil},
		{"multi-pass", base.with(pack{"problem.yaml": base["problem.yaml"] + "type: multi-pass\n"}), nil},
	} {
		p, err := openTest(t, tt.pack.folder(t))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range p.Outputs {
			if !o.Valid {
				t.Errorf("%s: %s must be wrong", tt.name, o.Path)
			}
			got = append(got, o.Test.Name+filepath.Ext(o.Path))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
		p.Close()
	}
}

// TestUnchecked: an output that the checker is not tested with fails the verification.
func TestUnchecked(t *testing.T) {
	p, err := openTest(t, legacyPack.with(pack{"data/invalid_output/1.in": "", "data/invalid_output/1.ans": "",
		"data/valid_output/2.in": "", "data/valid_output/2.out": "", "data/valid_output/3.in": "",
		"data/valid_output/3.ans": "", "data/valid_output/3.out": ""}).folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const lacks = ".in has no .ans or no .out next to it, so the checker is not tested with it"
	if diff := cmp.Diff([]string{"data/invalid_output/1" + lacks, "data/valid_output/2" + lacks}, p.Unchecked); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(p.Outputs) != 1 {
		t.Errorf("%d outputs, want 1", len(p.Outputs))
	}
}
