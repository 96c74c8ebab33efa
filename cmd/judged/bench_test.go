package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// BenchmarkVerifyPeers verifies packages with judged and with the tools of the field in alternation. Cold is the first
// verification, warm the second of the same package.
func BenchmarkVerifyPeers(b *testing.B) {
	testkit.Need(b, testkit.Root, testkit.Cgroup, testkit.Python, testkit.StaticGCC, testkit.ProblemTools)
	for _, peer := range peers {
		b.Run(peer.name, func(b *testing.B) {
			var cold, warm, theirs []float64
			for b.Loop() {
				dir := peer.copyPackage(b)
				home := b.TempDir()
				begin := time.Now()
				askTool(b, dir, home, peer.time)
				first := time.Since(begin)
				begin = time.Now()
				askTool(b, dir, home, peer.time)
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
			for name, all := range map[string][]float64{"cold/" + peer.time[0]: cold, "warm/" + peer.time[0]: warm,
				"s/" + peer.time[0]: theirs} {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], name)
			}
		})
	}
}
