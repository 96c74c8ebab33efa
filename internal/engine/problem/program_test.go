package problem

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// programsOf returns the programs of a package: role, name, and the files of the job.
func programsOf(t *testing.T, p *Package) (all []string) {
	t.Helper()
	add := func(role string, x Program) {
		s, err := x.start()
		if err != nil {
			all = append(all, fmt.Sprintf("%s %s: %v", role, x.Name, err))
			return
		}
		text := fmt.Sprintf("%s %s: %s %s", role, x.Name, s.language, s.name)
		for _, f := range x.Files {
			if _, ok := s.files[f.Name]; ok {
				text += " +" + f.Name
			}
		}
		all = append(all, text)
	}
	for _, s := range p.Submissions {
		add("submission", s.Program)
	}
	for _, v := range p.Validators {
		add("validator", v.Program)
	}
	if c := p.Checker.Program; c != nil {
		add("checker", *c)
	}
	return all
}

// TestPrograms checks which files are programs, and how they are started. Other files are findings.
func TestPrograms(t *testing.T) {
	base := legacyPack.without("submissions/accepted/a.cpp", "submissions/wrong_answer/w.py",
		"submissions/time_limit_exceeded/slow/Main.java", "input_validators/check.py")
	const elf = "\x7fELF"
	const accepted = "submissions/accepted/"
	for _, tt := range []struct {
		name     string
		more     pack
		want     []string // programs
		findings []string // names of files that are not programs
	}{
		{"no programs", pack{accepted + "README.md": "", accepted + "a.py": "", accepted + "a.py.orig": "",
			accepted + "b.template": "", "submissions/time_limit_exceeded/c.cpp.SLOW": "", "input_validators/README": ""},
			[]string{"submission submissions/accepted/a.py: python a.py"},
			[]string{"input_validators/README", accepted + "README.md", accepted + "a.py.orig", accepted + "b.template",
				"submissions/time_limit_exceeded/c.cpp.SLOW"}},
		{"next to a checker", pack{"problem.yaml": "validation: custom", "output_validators/README.md": "",
			"output_validators/check.py": ""},
			[]string{"checker output_validators/check.py: python check.py"}, []string{"output_validators/README.md"}},
		{"scripts", pack{accepted + "a.sh": "", accepted + "b.bash": "", accepted + "c.rb": "#!/usr/bin/ruby",
			accepted + "d.pl": "", accepted + "e.lua": "", accepted + "f.php": "", accepted + "g.awk": "",
			accepted + "h.py2": "", accepted + "i.py3": "#!/usr/bin/env python3", accepted + "j.tcl": "#!/usr/bin/tclsh"},
			[]string{"submission submissions/accepted/a.sh: bash a.sh",
				"submission submissions/accepted/b.bash: bash b.bash",
				"submission submissions/accepted/c.rb: ruby c.rb", "submission submissions/accepted/d.pl: perl d.pl",
				"submission submissions/accepted/e.lua: lua e.lua", "submission submissions/accepted/f.php: php f.php",
				"submission submissions/accepted/g.awk: awk g.awk",
				"submission submissions/accepted/h.py2: python2 h.py2",
				"submission submissions/accepted/i.py3: python i.py3",
				"submission submissions/accepted/j.tcl:  j.tcl"}, nil},
		{"less common languages", pack{accepted + "a.lisp": "", accepted + "b.adb": "", accepted + "c.f90": "",
			accepted + "d.ts": "", accepted + "e.cob": ""},
			[]string{"submission submissions/accepted/a.lisp: lisp a.lisp",
				"submission submissions/accepted/b.adb: ada b.adb", "submission submissions/accepted/c.f90: fortran c.f90",
				"submission submissions/accepted/d.ts: typescript d.ts",
				"submission submissions/accepted/e.cob: cobol e.cob"}, nil},
		{"entry points", pack{accepted + "a/__init__.py": "", accepted + "a/__main__.py": "", accepted + "b/a.py": "",
			accepted + "b/main.py": "", accepted + "c/a.php": "", accepted + "c/b.php": "", accepted + "d/a.cpp": "",
			accepted + "d/b.cpp": "", accepted + "e.py": "#!/usr/bin/env python2\nprint 1",
			accepted + "f/main.py": "#!/usr/bin/python2", accepted + "f/x.py": ""},
			[]string{"submission submissions/accepted/a: python __main__.py +__init__.py",
				"submission submissions/accepted/b: python main.py +a.py",
				`submission submissions/accepted/c: "submissions/accepted/c" has several files; rename the one with ` +
					"the entry point to main; languages such as C++ do not need this",
				"submission submissions/accepted/d: cpp a.cpp +b.cpp",
				"submission submissions/accepted/e.py: python2 e.py",
				"submission submissions/accepted/f: python2 main.py +x.py"}, nil},
		{"executables", pack{accepted + "a/a.c": "", accepted + "a/prog": elf, accepted + "b/run": "#!/bin/sh",
			accepted + "b/b.py": "", accepted + "c": elf},
			[]string{"submission submissions/accepted/a:  prog +a.c", "submission submissions/accepted/b:  run +b.py",
				"submission submissions/accepted/c:  c"}, nil},
		{"build scripts", pack{accepted + "a/build": "", accepted + "a/a.c": "", accepted + "b/build": "#!/bin/sh",
			accepted + "b/run": "#!/bin/sh", "input_validators/v/build": ""},
			[]string{"submission submissions/accepted/a: build build +a.c",
				"submission submissions/accepted/b: build build +run",
				"validator input_validators/v: build build"}, nil},
		{"build script next to a checker", pack{"problem.yaml": "validation: custom", "output_validators/build": "#!/bin/sh",
			"output_validators/check.cpp": ""}, []string{"checker output_validators: build build +check.cpp"}, nil},
		{"run script next to a checker", pack{"problem.yaml": "validation: custom", "output_validators/run": "#!/bin/sh",
			"output_validators/check.py": ""}, []string{"checker output_validators:  run +check.py"}, nil},
		{"headers", pack{"problem.yaml": "validation: custom", "output_validators/verdict.h": "",
			"output_validators/check.cpp": "", "input_validators/a.c": "", "input_validators/b.py": "",
			"input_validators/x.hpp": "", accepted + "only.h": "", accepted + "c/c.cpp": "", accepted + "c/d.h": ""},
			[]string{"submission submissions/accepted/c: cpp c.cpp +d.h",
				"validator input_validators/a.c: c a.c +x.hpp", "validator input_validators/b.py: python b.py",
				"checker output_validators/check.cpp: cpp check.cpp +verdict.h"},
			[]string{accepted + "only.h"}},
		{"several languages", pack{accepted + "x/a.py": "", accepted + "x/b.cpp": ""},
			[]string{`submission submissions/accepted/x: "submissions/accepted/x" has sources in an unknown language, ` +
				"or in several languages; put each program into its own folder"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, base.with(tt.more).folder(t))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if diff := cmp.Diff(tt.want, programsOf(t, p)); diff != "" {
				t.Errorf("programs (-want +got)\n%s", diff)
			}
			var findings []string
			for _, f := range p.Findings {
				if name, _, ok := strings.Cut(f, " is not a program: "); ok {
					findings = append(findings, name)
				}
			}
			slices.Sort(findings)
			if diff := cmp.Diff(tt.findings, findings); diff != "" {
				t.Errorf("findings (-want +got)\n%s", diff)
			}
		})
	}
}

// TestPolygonPythons: the type of a source determines the version of Python, because the extension does not.
func TestPolygonPythons(t *testing.T) {
	for kind, want := range map[string]string{"python.3": "python", "python.pypy3": "python", "python.2": "python2",
		"python.pypy2": "python2"} {
		xml := strings.Replace(polygonPack["problem.xml"], `"python.3"`, `"`+kind+`"`, 1)
		p, err := openTest(t, polygonPack.with(pack{"problem.xml": xml}).folder(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Submissions[0].Language; got != want {
			t.Errorf("%s is in the language %q, want %q", kind, got, want)
		}
		p.Close()
	}
}
