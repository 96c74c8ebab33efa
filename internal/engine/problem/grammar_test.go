package problem

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// TestGrammars: the first program of a host that knows grammars is run on them. Without one, the validator is not left
// out: the error says what to install.
func TestGrammars(t *testing.T) {
	p, err := openTest(t, legacyPack.with(pack{"input_validators/a.ctd": "EOF", "input_validators/b.viva": ""}).folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctd, viva := p.Validators[0], p.Validators[1]
	if ctd.OK != grammarValid || p.Validators[2].OK != kattisValid {
		t.Errorf("exit status of valid inputs: %d of %s, %d of %s", ctd.OK, ctd.Program.Name, p.Validators[2].OK,
			p.Validators[2].Program.Name)
	}
	for _, tt := range []struct {
		name      string
		validator Validator
		host      map[string]os.FileMode
		want      string // the command, or a part of the error
	}{
		{"checktestdata", ctd, map[string]os.FileMode{"b/checktestdata": 0o755, "a/pyctd": 0o755}, "checktestdata a.ctd"},
		{"in Python", ctd, map[string]os.FileMode{"a/checktestdata": 0o644, "b/pyctd": 0o755}, "pyctd a.ctd"},
		{"none", ctd, nil, "pip install checktestdata"},
		{"VIVA", viva, map[string]os.FileMode{"a/checktestdata": 0o755}, "write the validator as a program"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, mode := range tt.host {
				file := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, mode)); err != nil {
					t.Fatal(err)
				}
			}
			j, err := startGrammar(tt.validator.Program, api.Job{}, dir+"/a:"+dir+"/b")
			if err != nil {
				if !errors.As(err, new(*ProgramError)) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want a ProgramError with %q", err, tt.want)
				}
				return
			}
			if diff := cmp.Diff(tt.want, strings.Join(j.Command, " ")); diff != "" {
				t.Errorf("command (-want +got)\n%s", diff)
			}
			if b, err := os.ReadFile(j.Files["a.ctd"].Part); string(b) != "EOF" {
				t.Errorf("the grammar is %q, %v", b, err)
			}
		})
	}
}
