package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/jobs/intake"
)

func TestParseRepeats(t *testing.T) {
	for _, tt := range []struct {
		text string
		want api.Repeats
		ok   bool
	}{
		{"", api.Repeats{Policy: api.Minimum}, true},
		{"1", api.Repeats{Min: 1, Max: 1, Policy: api.Minimum}, true},
		{"20", api.Repeats{Min: 20, Max: 20, Policy: api.Minimum}, true},
		{"2-5", api.Repeats{Min: 2, Max: 5, Policy: api.Minimum}, true},
		{"5-5", api.Repeats{Min: 5, Max: 5, Policy: api.Minimum}, true},
		{"0", api.Repeats{}, false},
		{"0-5", api.Repeats{}, false},
		{"5-2", api.Repeats{}, false},
		{"-5", api.Repeats{}, false},
		{"5-", api.Repeats{}, false},
		{"-", api.Repeats{}, false},
		{"1-2-3", api.Repeats{}, false},
		{"x", api.Repeats{}, false},
		{"1.5", api.Repeats{}, false},
		{"99999999999999999999", api.Repeats{}, false},
	} {
		t.Run(tt.text, func(t *testing.T) {
			got, err := parseRepeats(tt.text, "min")
			checkUsage(t, err, tt.ok)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestParsePairs(t *testing.T) {
	for _, tt := range []struct {
		name string
		list []string
		want map[string]string
		ok   bool
	}{
		{"none", nil, map[string]string{}, true},
		{"several", []string{"a=1", "b=", "c=x=y"}, map[string]string{"a": "1", "b": "", "c": "x=y"}, true},
		{"no value", []string{"a"}, nil, false},
		{"no name", []string{"=1"}, nil, false},
		{"twice", []string{"a=1", "a=1"}, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parsePairs("file", "NAME=PATH", tt.list)
			checkUsage(t, err, tt.ok)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// checkUsage fails unless err is nil for ok, and otherwise has the exit code of wrong usage.
func checkUsage(t *testing.T, err error, ok bool) {
	t.Helper()
	var usage *usageError
	if (err == nil) != ok || err != nil && !errors.As(err, &usage) {
		t.Errorf("error %v, want success %t or wrong usage", err, ok)
	}
}

// parsed returns the flags of a command line.
func parsed(t *testing.T, args ...string) (*cobra.Command, *jobFlags) {
	t.Helper()
	cmd, f := &cobra.Command{Use: "judged"}, &jobFlags{}
	f.add(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return cmd, f
}

func TestJobOfFlags(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want api.Job
	}{
		{"nothing is left to configuration", nil,
			api.Job{Checker: &api.Checker{Kind: "tokens"}, CPUs: 1, Stop: api.StopFirstFailure}},
		{"everything", []string{"--checker=lines", "--time-limit=1.5s", "--wall-limit=1m", "--memory-limit=256MiB",
			"--output-limit=1KiB",
			"--stack-limit=8MiB", "--processes=3", "--cpus=2", "--repeats=2-5", "--policy=single", "--stop=never",
			"--head=4KiB", "--env=A=b=c", "--env=B="},
			api.Job{
				Env:     map[string]string{"A": "b=c", "B": ""},
				Checker: &api.Checker{Kind: "lines"}, CPUs: 2, Stop: api.StopNever, Head: 4 << 10,
				Repeats: api.Repeats{Min: 2, Max: 5, Policy: api.Single},
				Limits: api.Limits{CPUTimeMS: 1500, WallTimeMS: 60000, Memory: 256 << 20, Output: 1 << 10,
					Stack: 8 << 20, Processes: 3},
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd, f := parsed(t, tt.args...)
			got, err := f.job(cmd)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestUnboundedCompletes checks that a job that is sent to a daemon does not get limits of the local configuration.
func TestUnboundedCompletes(t *testing.T) {
	// the maximum that fits into a report
	j := api.Job{Command: []string{"x"}, Tests: []api.Test{{Name: "1"}}, CPUs: 1 << 20, Head: 6 << 20,
		Repeats: api.Repeats{Min: 1 << 40, Max: 1 << 40},
		Limits: api.Limits{CPUTimeMS: 1 << 42, WallTimeMS: 1 << 42, Memory: 1 << 60, Output: 1 << 60, Stack: 1 << 60,
			Processes: 1 << 40}}
	if _, err := intake.Complete(unbounded(), j); err != nil {
		t.Error(err)
	}
}

func TestInFlags(t *testing.T) {
	err := inFlags(fmt.Errorf("refused: %w", intake.Errors{
		{Field: "limits.cpu_time_ms", Detail: "a"}, {Field: "limits.wall_time_ms", Detail: "b"},
		{Field: "limits.memory_bytes", Detail: "c"},
		{Field: "limits.output_bytes", Detail: "d"}, {Field: "limits.stack_bytes", Detail: "e"},
		{Field: "limits.processes", Detail: "f"},
		{Field: "head_bytes", Detail: "g"}, {Field: "checker.kind", Detail: "h"}, {Field: "repeats.min", Detail: "i"},
		{Field: "repeats.policy", Detail: "j"}, {Field: "cpus", Detail: "k"}, {Field: "stop", Detail: "l"},
		{Field: "priority", Detail: "m"},
		{Field: `files["a/b"]`, Detail: "n"}, {Field: `labels["x"]`, Detail: "o"},
		{Field: "tests[3].name", Detail: "p"}, {Detail: "q"},
	}))
	checkUsage(t, err, false)
	want := "--time-limit in milliseconds: a; --wall-limit in milliseconds: b; --memory-limit in bytes: c; " +
		"--output-limit in bytes: d; --stack-limit in bytes: e; --processes: f; --head in bytes: g; --checker: h; " +
		"--repeats: i; " +
		`--policy: j; --cpus: k; --stop: l; --priority: m; --file "a/b": n; --label "x": o; tests[3].name: p; q`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestWholeMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]bool{
		0: false, -time.Second: false, time.Microsecond: false, time.Millisecond: true, 1500 * time.Microsecond: false,
		1500 * time.Millisecond: true,
	} {
		if got := wholeMilliseconds(d); got != want {
			t.Errorf("%s: got %t, want %t", d, got, want)
		}
	}
}

// TestReadable would block on the pipe if it were opened.
func TestReadable(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/file", "x", 0o644)
	if err := syscall.Mkfifo(dir+"/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", dir+"/dangling"); err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/sparse", "", 0o644)
	if err := os.Truncate(dir+"/sparse", 900<<30); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"sparse": "900GiB, more than 8GiB", "file": "", "link": "",
		"pipe": "is not a regular file", ".": "is a folder",
		"dangling": "no such file", "absent": "no such file",
	} {
		err := readable(filepath.Join(dir, name))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", name, err, want)
		}
	}
}

// TestSizeFlags checks that the help shows no default for flags that have none.
func TestSizeFlags(t *testing.T) {
	cmd := &cobra.Command{Use: "judged"}
	var b units.Bytes
	sizeFlag(cmd, &b, "size", "a `SIZE`")
	if usage := cmd.Flags().FlagUsages(); strings.Contains(usage, "default") {
		t.Errorf("help shows a default:\n%s", usage)
	}
	if err := cmd.ParseFlags([]string{"--size", "4KiB"}); err != nil || b != 4<<10 {
		t.Errorf("got %d, %v; want 4096", b, err)
	}
}
