package problem

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConstants: constants are replaced as written in the files that the format defines, and the version of the package
// does not change. Test data and binaries do not change.
func TestConstants(t *testing.T) {
	const before = "{{most}} {{most.value}} {{most.tex}} {{name}} {{rate}} {{other}} {{most.other}} {{ most }} {most} " +
		"{{{name}}}"
	const after = "1_000 1_000 1\\,000 a {b} 1e-6 {{other}} {{most.other}} {{ most }} {most} {a {b}}"
	files := pack{"problem.yaml": "problem_format_version: 2025-09\nname: '{{name}}'\nconstants:\n" +
		"  most: {value: 1_000, tex: '1\\,000'}\n  name: a {b}\n  rate: 1e-6\n",
		"data/secret/g/1.in": before, "data/secret/g/1.ans": before, "data/secret/g/1.yaml": "args: ['{{most}}']\n",
		"data/secret/g/test_group.yaml": "output_validator_args: ['{{most}}']\n",
		"input_validators/v.py":         before,
		"output_validator/validate.py":  before,
		"include/default/i.txt":         before,
		"submissions/accepted/a.py":     before,
		"submissions/accepted/b/b.py":   before + "\x00",
		"submissions/accepted/b/link":   "->../../../data/secret/g/1.ans",
		"submissions/submissions.yaml":  "accepted: {message: '{{most}}'}\n",
	}
	versions := map[string]bool{}
	for name, path := range map[string]string{"folder": files.folder(t), "archive": files.zip(t, "")} {
		p, err := openTest(t, path)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		versions[p.Version] = true
		test := p.Tests[0]
		got := map[string]string{"name": p.Name, "args": test.Args[0], "checker": test.CheckerArgs[0],
			"message": p.Submissions[0].Expected[0].Message}
		for part, path := range map[string]string{"input": test.Input, "answer": test.Answer,
			"validator": p.Validators[0].Program.Files[0].Path, "output": p.Checker.Program.Files[0].Path,
			"include": p.Includes[""][0].Path, "source": p.Submissions[0].Files[0].Path,
			"binary": p.Submissions[1].Files[0].Path, "link": p.Submissions[1].Files[1].Path} {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got[part] = string(content)
		}
		want := map[string]string{"name": "{{name}}", "args": "{{most}}", "checker": "1_000", "message": "1_000",
			"input": before, "answer": before, "validator": after, "output": after, "include": after, "source": after,
			"binary": before + "\x00", "link": after}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if p.Findings != nil {
			t.Errorf("%s: findings %q", name, p.Findings)
		}
	}
	if len(versions) != 1 {
		t.Errorf("versions %v, want one", versions)
	}
}
