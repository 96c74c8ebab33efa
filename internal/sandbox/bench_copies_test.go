package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"judged/internal/testkit"
)

// BenchmarkSameAgain measures the CPU time of judged, judged-init and the runs for a program or an input that earlier
// runs have had: once per test, as in production.
func BenchmarkSameAgain(b *testing.B) {
	large := filepath.Join(b.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, 13<<20), 0o644); err != nil {
		b.Fatal(err)
	}
	input := filepath.Join(b.TempDir(), "input")
	if err := os.WriteFile(input, make([]byte, 100<<20), 0o644); err != nil {
		b.Fatal(err)
	}
	tiny := empty(b)
	program := File{Name: "empty", Path: tiny, Exec: true}
	for _, bb := range []struct {
		name  string
		files []File
		input string
	}{
		{"empty", []File{program}, ""},
		{"libc", []File{{Name: "empty", Path: testkit.CompileC(b, "testdata/act.c", true), Exec: true}}, ""},
		{"13MiB", []File{program, {Name: "large", Path: large}}, ""},
		{"input100MiB", []File{program}, input},
	} {
		b.Run(bb.name, func(b *testing.B) {
			l := newLab(b, nil)
			before := l.cpuTime(b)
			var whole []time.Duration
			for b.Loop() {
				begin := time.Now()
				spec := Spec{Args: []string{"./empty", "exit", "0"}, Files: bb.files, Limits: limits()}
				if bb.input != "" {
					in, err := NewInput(bb.input, l.slot)
					if err != nil {
						b.Fatal(err)
					}
					spec.Input = in
				}
				s, err := l.Prepare(l.slot)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Load(spec); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Run(context.Background()); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				if spec.Input != nil {
					if err := spec.Input.Close(); err != nil {
						b.Fatal(err)
					}
				}
				whole = append(whole, time.Since(begin))
			}
			b.ReportMetric(float64(l.cpuTime(b)-before)/float64(b.N)/1e3, "CPU-us")
			b.ReportMetric(quantile(whole, .5), "whole-p50-us")
		})
	}
}

// BenchmarkNamedFiles measures an empty program with an input and an output, in turns on stdin and stdout, and as files.
func BenchmarkNamedFiles(b *testing.B) {
	path := empty(b)
	l := newLab(b, nil)
	input := filepath.Join(b.TempDir(), "input")
	if err := os.WriteFile(input, []byte("1 2\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	in, err := NewInput(input, l.slot)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	streams := Spec{Args: []string{"./empty"}, Files: []File{{Name: "empty", Path: path, Exec: true}}, Input: in,
		Limits: limits()}
	named := streams
	named.InputFile, named.OutputFile = "in", "out"
	specs := map[string]Spec{"streams": streams, "named": named}
	load, billed, whole := map[string][]time.Duration{}, map[string][]time.Duration{}, map[string][]time.Duration{}
	for b.Loop() {
		for name, spec := range specs {
			begin := time.Now()
			s, err := l.Prepare(l.slot)
			if err != nil {
				b.Fatal(err)
			}
			prepared := time.Now()
			if err := s.Load(spec); err != nil {
				b.Fatal(err)
			}
			load[name] = append(load[name], time.Since(prepared))
			r, err := s.Run(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			billed[name], whole[name] = append(billed[name], r.CPUTime), append(whole[name], time.Since(begin))
		}
	}
	for name := range specs {
		b.ReportMetric(quantile(load[name], .5), name+"-load-p50-us")
		b.ReportMetric(quantile(billed[name], .5), name+"-billed-p50-us")
		b.ReportMetric(quantile(whole[name], .5), name+"-whole-p50-us")
	}
}

// BenchmarkRead measures a program that reads an input of 100 MiB, in turns bare from the page cache and in a sandbox.
func BenchmarkRead(b *testing.B) {
	testkit.Need(b, testkit.Python)
	l := newLab(b, nil)
	path := filepath.Join(b.TempDir(), "input")
	if err := os.WriteFile(path, []byte(strings.Repeat("1234567\n", 100<<20/8)), 0o644); err != nil {
		b.Fatal(err)
	}
	args := []string{"python3", "-c", "import os, time\nb = bytearray(1 << 16)\nbegin = time.process_time_ns()\n" +
		"while os.readv(0, [b]): pass\nprint(time.process_time_ns() - begin)"}
	var bare, billed, acquire []time.Duration
	for b.Loop() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdin = f
		out, err := cmd.Output()
		f.Close()
		if err != nil {
			b.Fatal(err)
		}
		bare = append(bare, time.Duration(parseCount(strings.TrimSpace(string(out)))))
		begin := time.Now()
		in, err := NewInput(path, l.slot)
		if err != nil {
			b.Fatal(err)
		}
		acquire = append(acquire, time.Since(begin))
		_, text := l.run(b, Spec{Args: args, Input: in, Limits: limits()})
		billed = append(billed, time.Duration(parseCount(strings.TrimSpace(text))))
		if err := in.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(acquire[0])/1e3, "copy-us")
	b.ReportMetric(quantile(bare, .5), "bare-p50-us")
	b.ReportMetric(quantile(billed, .5), "billed-p50-us")
	b.ReportMetric(quantile(billed, .5)/quantile(bare, .5), "billed/bare")
}

// cpuTime returns the CPU time used so far by this process, judged-init and all runs.
func (l *lab) cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var all time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			b.Fatal(err)
		}
		all += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return all + time.Duration(parseCount(strings.Fields(read(fmt.Sprintf("/proc/%d/schedstat", l.process.Pid)))[0]))
}
