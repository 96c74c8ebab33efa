package problem

import (
	"strings"
	"testing"
)

// TestRequirePassLeadsToAnEarlierGroup: a group whose condition always or never holds is an error that names both
// groups.
func TestRequirePassLeadsToAnEarlierGroup(t *testing.T) {
	kattis := func(group, settings string) pack {
		return kattisPack.with(pack{"data/" + group + "/test_group.yaml": settings})
	}
	draft := kattisPack.with(pack{"problem.yaml": "problem_format_version: 2023-07\ntype: [scoring]\nname: x\n",
		"data/secret/1/test_group.yaml": "scoring: {score: 5}", "data/secret/2/test_group.yaml": ""})
	polygon := func(dependencies string) pack {
		const first = `<group name="0" points-policy="each-test"`
		return polygonPack.with(pack{"problem.xml": strings.Replace(polygonPack["problem.xml"], first+"/>",
			first+"><dependencies>"+dependencies+"</dependencies></group>", 1)})
	}
	const missing, later = `requires group %, which does not exist or has no test`,
		`requires group %, which is not judged before it`
	for _, tt := range []struct {
		name     string
		pack     pack
		group    string
		required string
		want     string // "" means no error
	}{
		{"samples", kattis("secret/2", "require_pass: sample"), "", "", ""},
		{"samples and a group", kattis("secret/2", "require_pass: [sample, secret/1]"), "", "", ""},
		{"a group that does not exist", kattis("secret/2", "require_pass: secret/1-lwo"), "secret/2", "secret/1-lwo",
			missing},
		{"a name without its path", kattis("secret/2", "require_pass: ['1']"), "secret/2", "1", missing},
		{"a test", kattis("secret/2", "require_pass: secret/1/a"), "secret/2", "secret/1/a", missing},
		{"an empty name", kattis("secret/2", "require_pass: ['']"), "secret/2", "", later},
		{"samples that are not there",
			kattis("secret/2", "require_pass: sample").without("data/sample/s.in", "data/sample/s.ans"), "secret/2",
			"sample", missing},
		{"itself", kattis("secret/2", "require_pass: secret/2"), "secret/2", "secret/2", later},
		{"its parent", kattis("secret/2", "require_pass: secret"), "secret/2", "secret", later},
		{"its part", kattis("secret", "require_pass: secret/1"), "secret", "secret/1", later},
		{"a later one", kattis("secret/1", "require_pass: secret/2"), "secret/1", "secret/2", later},
		{"draft: a later one", draft.with(pack{"data/secret/1/test_group.yaml": "scoring: {require_pass: [secret/2]}"}),
			"secret/1", "secret/2", later},
		{"draft: its parent", draft.with(pack{"data/secret/1/more/test_group.yaml": "scoring: {require_pass: secret/1}"}),
			"secret/1/more", "secret/1", later},
		{"draft: a part of an earlier one",
			draft.with(pack{"data/secret/2/test_group.yaml": "scoring: {require_pass: secret/1/more}"}), "", "", ""},
		{"polygon: a later one", polygon(`<dependency group="1"/>`), "0", "1", later},
		{"polygon: itself", polygon(`<dependency group="0"/>`), "0", "0", later},
		{"polygon: a group that does not exist", polygon(`<dependency group="7"/>`), "0", "7", missing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, tt.pack.folder(t))
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				p.Close()
				return
			}
			want := `group "` + tt.group + `" ` + strings.Replace(tt.want, "%", `"`+tt.required+`"`, 1)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		})
	}
}

// TestGroupsWithoutTests: samples that only have interactions are not a group, and a problem with only samples has a
// finding.
func TestGroupsWithoutTests(t *testing.T) {
	p, err := openTest(t, legacyPack.without("data/sample/1.in", "data/sample/1.ans").with(
		pack{"data/sample/1.interaction": "<1"}).folder(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.Scheme.Root.Members); n != 1 || len(p.Findings) > 0 {
		t.Errorf("%d groups, want secret alone; findings %q", n, p.Findings)
	}
	p, err = openTest(t, legacyPack.without("data/secret/10.in", "data/secret/2.in").folder(t))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(p.Findings, "\n"), "no test in data/secret") {
		t.Errorf("findings %q", p.Findings)
	}
}

// TestPointsAreBounded: points whose sum a report could not represent are refused when they are read.
func TestPointsAreBounded(t *testing.T) {
	for name, p := range map[string]pack{
		"accept_score": legacyPack.with(pack{"data/testdata.yaml": "accept_score: 1e300"}),
		"reject_score": legacyPack.with(pack{"data/testdata.yaml": "reject_score: -1e300"}),
		"infinite":     legacyPack.with(pack{"data/testdata.yaml": "accept_score: .inf"}),
		"range":        legacyPack.with(pack{"data/testdata.yaml": "range: 0 1e300"}),
		"polygon test": polygonPack.with(pack{"problem.xml": strings.Replace(polygonPack["problem.xml"], `points="40"`,
			`points="1e300"`, 1)}),
		"polygon group": polygonPack.with(pack{"problem.xml": strings.Replace(polygonPack["problem.xml"],
			`points-policy="complete-group"`, `points-policy="complete-group" points="1e300"`, 1)}),
	} {
		if _, err := openTest(t, p.folder(t)); err == nil || !strings.Contains(err.Error(), "e+300") &&
			!strings.Contains(err.Error(), "out of range") && !strings.Contains(err.Error(), "+Inf") {
			t.Errorf("%s: error %v, want one about the points", name, err)
		}
	}
}
