package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"judged/internal/api"
	"judged/internal/service/render"
)

// judgeAll submits the jobs one after the other and waits for each report.
func (d *demo) judgeAll(ctx context.Context, url string, p *plan, line render.Line) error {
	for n, it := range p.items {
		line.Show("judging %d of %d  %s", n+1, len(p.items), it.sample.Name)
		args := append([]string{"submit", "--url", url, "--json"}, submitArgs(it.job)...)
		cmd := exec.CommandContext(ctx, d.judged, args...)
		// After SIGTERM, unlike SIGKILL, judged removes its copies of the tests.
		cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, stopPatience
		text, err := cmd.Output()
		exit := &exec.ExitError{}
		switch {
		case errors.As(err, &exit) && exit.ExitCode() != exitNo: // exitNo: a verdict other than AC
			return fmt.Errorf("judge sample %q: %w: %s", it.sample.Name, err, exit.Stderr)
		case err != nil && exit.ProcessState == nil:
			return fmt.Errorf("judge sample %q: %w", it.sample.Name, err)
		}
		if err := json.Unmarshal(text, &it.report); err != nil {
			return fmt.Errorf("read report of sample %q: %w", it.sample.Name, err)
		}
	}
	return nil
}

// submitArgs returns the arguments of judged submit for a job that names its files by path.
func submitArgs(j api.Job) []string {
	r, l := j.Repeats, j.Limits
	args := []string{"--tests", filepath.Dir(j.Tests[0].Input.Part), "--checker", j.Checker.Kind}
	for _, flag := range []struct {
		name, value string
		given       bool
	}{
		{"--repeats", fmt.Sprintf("%d-%d", r.Min, r.Max), r.Max > 0},
		{"--policy", string(r.Policy), r.Policy != ""},
		{"--time-limit", fmt.Sprintf("%dms", l.CPUTimeMS), l.CPUTimeMS > 0},
		{"--wall-limit", fmt.Sprintf("%dms", l.WallTimeMS), l.WallTimeMS > 0},
		{"--memory-limit", l.Memory.String(), l.Memory > 0},
		{"--output-limit", l.Output.String(), l.Output > 0},
		{"--stack-limit", l.Stack.String(), l.Stack > 0},
		{"--processes", fmt.Sprint(l.Processes), l.Processes > 0},
	} {
		if flag.given {
			args = append(args, flag.name, flag.value)
		}
	}
	if len(j.Command) == 0 {
		return append(args, "--", j.Program.Part)
	}
	args = append(args, "--file", "source="+j.Program.Part, "--")
	for _, word := range j.Command {
		args = append(args, strings.ReplaceAll(word, "{program}", "source"))
	}
	return args
}
