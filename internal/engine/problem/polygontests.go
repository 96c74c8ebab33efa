package problem

import (
	"maps"
	"slices"
	"strings"
)

// CheckerTest is a test of a checker that uses testlib, with the exit status that it must have.
type CheckerTest struct {
	Test
	Output string // path
	// Exit is the exit status of Verdict, a word of problem.xml.
	Exit    int
	Verdict string
}

// checkerExits maps the verdicts of tests of a checker to exit statuses of testlib.
var checkerExits = map[string]int{"ok": 0, "wrong-answer": 1, "presentation-error": 2, "crashed": 3}

// validatorVerdicts are the verdicts of tests of a validator.
var validatorVerdicts = []string{"invalid", "valid"}

// juryTest is a test of a program of the jury.
type juryTest struct {
	polygonTest
	files []string
}

// readJuryTests reads the tests of the jury's programs: inputs that a validator must accept or reject, and outputs for which
// the checker must give a verdict. The files of all are added to those that problem.xml names.
func (p *Package) readJuryTests(t *tree, x polygonXML, named map[string]bool) error {
	for i, program := range x.Validators {
		tests, err := p.juryTests(t, program, named, validatorVerdicts, program.Tests.Inputs)
		if err != nil {
			return err
		}
		v := &p.Validators[i]
		for _, one := range tests {
			test := Test{Name: one.files[0], Input: t.path(one.files[0]), ValidatorArgs: map[string][]string{"": one.args()}}
			if one.Verdict == "valid" {
				v.Valid = append(v.Valid, test)
			} else {
				v.Invalid = append(v.Invalid, test)
			}
		}
	}
	s := x.Checker.Tests
	tests, err := p.juryTests(t, *x.Checker, named, slices.Sorted(maps.Keys(checkerExits)), s.Inputs, s.Outputs, s.Answers)
	for _, one := range tests {
		p.CheckerTests = append(p.CheckerTests, CheckerTest{Exit: checkerExits[one.Verdict], Verdict: one.Verdict,
			Test:   Test{Name: one.files[0], Input: t.path(one.files[0]), Answer: t.path(one.files[2])},
			Output: t.path(one.files[1])})
	}
	return err
}

// args are the arguments of a validator for its own test.
func (x juryTest) args() (args []string) {
	if x.Testset != "" {
		args = append(args, "--testset", x.Testset)
	}
	if x.Group != "" {
		args = append(args, "--group", x.Group)
	}
	return args
}

// juryTests returns the tests of a program with their files, which the patterns name. What cannot be run fails the
// verification.
func (p *Package) juryTests(t *tree, x polygonProgram, named map[string]bool, verdicts []string, patterns ...string) (
	tests []juryTest, err error) {
	s, of := x.Tests, x.Source.Path
	if s.Count != 0 && s.Count != len(s.Tests) {
		p.cannotCheck("problem.xml lists %d tests of %s, but their test-count is %d", len(s.Tests), of, s.Count)
	}
	for i, one := range s.Tests {
		files := make([]string, len(patterns))
		for j, pattern := range patterns {
			if files[j], err = testFile(pattern, i+1); err != nil {
				return nil, err
			}
			named[files[j]] = true
		}
		missing := slices.IndexFunc(files, func(name string) bool { return !t.has(name) })
		switch {
		case missing >= 0:
			p.cannotCheck("%s is missing; it belongs to test %d of %s, which is not run", files[missing], i+1, of)
		case !slices.Contains(verdicts, one.Verdict):
			p.cannotCheck("test %d of %s has the unknown verdict %q and is not run; use %s", i+1, of, one.Verdict,
				strings.Join(verdicts, ", "))
		default:
			tests = append(tests, juryTest{one, files})
		}
	}
	return tests, nil
}
