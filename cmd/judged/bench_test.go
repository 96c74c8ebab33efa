package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"judged/internal/base/linux"
	"judged/internal/testkit"
)

// BenchmarkVerify verifies a package with 20 tests and one submission. It runs that submission as often with the same
// inputs, sequentially on the same CPU and without judged.
func BenchmarkVerify(b *testing.B) {
	testkit.Need(b, testkit.Root, testkit.Cgroup, testkit.Python)
	const tests = 20
	dir := b.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			b.Fatal(err)
		}
		return path
	}
	write("problem.yaml", "name: Sum\n")
	write(".timelimit", "2\n")
	program := write("submissions/accepted/sum.py",
		"n = int(input())\nprint(n * sum(range(1000000)) // sum(range(1000000)))\n")
	for i := range tests {
		write(fmt.Sprintf("data/secret/%d.in", i), fmt.Sprintln(i))
		write(fmt.Sprintf("data/secret/%d.ans", i), fmt.Sprintln(i))
	}
	cpus := slices.Clone(lastCPU(b))
	var ratios []float64
	for b.Loop() {
		begin := time.Now()
		for i := range tests {
			cmd := exec.Command("/usr/bin/python3", program)
			cmd.Stdin = strings.NewReader(fmt.Sprintln(i % tests))
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			if err := linux.SetAffinity(cmd.Process.Pid, cpus); err != nil {
				b.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
		}
		bare := time.Since(begin)
		begin = time.Now()
		cmd := command("verify", "--repeats", "1", "--cpu-list", lastCPU(b).String(), dir)
		if output, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, output)
		}
		ratios = append(ratios, float64(time.Since(begin))/float64(bare))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "verify/runs")
}

// BenchmarkVerifyPeers verifies 20 packages with judged and with the tools of the field in alternation: those of
// TestProblemTools, and those in synthetics. Cold is the first verification, warm the second of the same package.
func BenchmarkVerifyPeers(b *testing.B) {
	testkit.Need(b, testkit.Root, testkit.Cgroup, testkit.Python, testkit.StaticGCC, testkit.ProblemTools)
	compare := func(name string, tool []string, copyPackage func(testing.TB) string) {
		b.Run(name, func(b *testing.B) {
			var cold, warm, theirs []float64
			for b.Loop() {
				dir := copyPackage(b)
				home := b.TempDir()
				begin := time.Now()
				askTool(b, dir, home, tool)
				first := time.Since(begin)
				begin = time.Now()
				askTool(b, dir, home, tool)
				second := time.Since(begin)
				verify := func() time.Duration {
					begin := time.Now()
					cmd := command("verify", "--cpu-list", lastCPU(b).String(), dir)
					cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+home)
					if output, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("%v\n%s", err, output)
					}
					return time.Since(begin)
				}
				cold = append(cold, verify().Seconds()/first.Seconds())
				warm = append(warm, verify().Seconds()/second.Seconds())
				theirs = append(theirs, first.Seconds())
			}
			for name, all := range map[string][]float64{"cold/" + tool[0]: cold, "warm/" + tool[0]: warm,
				"s/" + tool[0]: theirs} {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], name)
			}
		})
	}
	for _, p := range peers {
		compare(p.name, p.time, p.copyPackage)
	}
	for _, s := range synthetics {
		compare(s.name, s.tool, s.write)
	}
}

// synthetic is a package to add numbers, or to guess one, as large as real ones. The submissions "wrong" are right in the
// first half of the tests.
type synthetic struct {
	name        string
	tool        []string // verifyproblem gets a legacy package, bt one of 2025-09
	tests       int
	numbers     int    // in each test
	groups      int    // of tests with points
	validator   string // of inputs
	checker     string // empty is the default one
	submissions string
}

var synthetics = []synthetic{
	{"one-test", timeVerifyproblem, 1, 2, 0, "valid.py", "", "accepted/sum.cpp accepted/sum.py wrong_answer/zero.py"},
	{"30-tests", timeVerifyproblem, 30, 1000, 0, "valid.py", "",
		"accepted/sum.cpp accepted/sum.py wrong_answer/wrong.cpp run_time_error/crash.py"},
	{"100-tests", timeVerifyproblem, 100, 100, 0, "valid.cpp", "", "accepted/sum.cpp accepted/sum.py"},
	{"large-inputs", timeVerifyproblem, 10, 200_000, 0, "valid.py", "",
		"accepted/sum.cpp accepted/sum.py wrong_answer/wrong.cpp"},
	{"eight-solutions", timeVerifyproblem, 15, 10, 0, "valid.py", "", "accepted/sum.cpp accepted/sum2.cpp " +
		"accepted/sum3.cpp accepted/sum.py wrong_answer/wrong.cpp wrong_answer/wrong2.cpp wrong_answer/zero.py " +
		"run_time_error/crash.py"},
	{"python", timeVerifyproblem, 20, 1000, 0, "valid.py", "", "accepted/sum.py accepted/sum2.py wrong_answer/zero.py"},
	{"too-slow", timeVerifyproblem, 10, 10, 0, "valid.py", "",
		"accepted/sum.cpp time_limit_exceeded/slow.cpp time_limit_exceeded/slow.py"},
	{"checker-python", timeVerifyproblem, 20, 10, 0, "valid.py", "check.py",
		"accepted/sum.cpp accepted/sum.py wrong_answer/wrong.cpp"},
	{"checker-cpp", timeVerifyproblem, 20, 10, 0, "valid.cpp", "check.cpp",
		"accepted/sum.cpp accepted/sum.py wrong_answer/wrong.cpp"},
	{"interactive", timeVerifyproblem, 15, 1, 0, "valid.py", "guess.py",
		"accepted/halves.cpp accepted/halves.py wrong_answer/zero.py"},
	{"groups", timeVerifyproblem, 24, 10, 4, "valid.py", "",
		"accepted/sum.cpp accepted/sum.py partially_accepted/wrong.cpp"},
	{"one-test-bt", timeBT, 1, 2, 0, "valid.py", "", "accepted/sum.cpp accepted/sum.py wrong_answer/zero.py"},
	{"40-tests-bt", timeBT, 40, 1000, 0, "valid.py", "",
		"accepted/sum.cpp accepted/sum.py wrong_answer/wrong.cpp run_time_error/crash.py"},
	{"java-bt", timeBT, 10, 100_000, 0, "valid.py", "", "accepted/Sum.java accepted/sum.cpp wrong_answer/wrong.cpp"},
	{"too-slow-bt", timeBT, 10, 10, 0, "valid.py", "",
		"accepted/sum.cpp time_limit_exceeded/slow.cpp time_limit_exceeded/slow.py"},
	{"checker-bt", timeBT, 20, 10, 0, "valid.cpp", "check.cpp",
		"accepted/sum.cpp accepted/sum.py wrong_answer/wrong.cpp"},
}

var digits = regexp.MustCompile(`\d`)

// write writes the package into a new folder.
func (s synthetic) write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	files := os.DirFS("testdata/synthetic")
	write := func(path, text string) {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	program := func(path string) {
		text, err := fs.ReadFile(files, digits.ReplaceAllString(filepath.Base(path), ""))
		if err != nil {
			t.Fatal(err)
		}
		// No two programs of a package are equal, so that each is compiled.
		comment := map[bool]string{true: "# ", false: "// "}[filepath.Ext(path) == ".py"]
		write(path, string(text)+comment+path+"\n")
	}
	legacy := s.tool[0] == verifyproblem[0]
	interactive := s.checker == "guess.py"
	settings, checkers := "problem_format_version: 2025-09\nuuid: 7e0a0c5e-4c34-4f8e-8d0a-0a7f5d1c3b52\n"+
		"limits:\n  time_limit: 1\n", "output_validator/"
	if legacy {
		settings, checkers = "author: judged\n", "output_validators/"
		switch {
		case interactive:
			settings += "validation: custom interactive\n"
		case s.checker != "":
			settings += "validation: custom\n"
		}
	}
	if s.groups > 0 {
		settings += "type: scoring\n"
		const all = "on_reject: continue\nrange: 0 100\ngrader_flags: sum accept_if_any_accepted"
		write("data/testdata.yaml", all+" ignore_sample\n")
		write("data/secret/testdata.yaml", all+"\n")
	}
	write("problem.yaml", "name: Sample\n"+settings)
	program("input_validators/" + s.validator)
	if s.checker != "" {
		program(checkers + s.checker)
	}
	for name := range strings.FieldsSeq(s.submissions) {
		program("submissions/" + name)
	}
	for i := range s.tests {
		name := fmt.Sprintf("data/secret/%03d", i)
		if s.groups > 0 {
			group := fmt.Sprintf("data/secret/%d", i*s.groups/s.tests)
			points := 100 / s.groups
			write(group+"/testdata.yaml", fmt.Sprintf("on_reject: break\naccept_score: %d\nrange: 0 %d\n"+
				"grader_flags: min\n", points, points))
			name = fmt.Sprintf("%s/%03d", group, i)
		}
		number := 1 + i
		if !interactive && 2*i >= s.tests {
			number = 2_000_000_000
		}
		write(name+".in", fmt.Sprintln(s.numbers)+
			strings.TrimSuffix(strings.Repeat(fmt.Sprint(number)+" ", s.numbers), " ")+"\n")
		write(name+".ans", fmt.Sprintln(s.numbers*number))
	}
	return dir
}
