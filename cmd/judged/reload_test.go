package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
	"judged/internal/jobs/client"
	"judged/internal/testkit"
)

// reloading is a daemon with a configuration file and tokens.
type reloading struct {
	t                     *testing.T
	config, tokens, data  string
	url, log              string
	signal                func(syscall.Signal)
	exited                <-chan error
	limits                string // of the configuration
	broken, tokenProblems string // text that makes the files unusable
}

// write makes the files: the names are also the tokens.
func (r *reloading) write(names ...string) {
	r.t.Helper()
	var tokens strings.Builder
	for _, n := range names {
		fmt.Fprintf(&tokens, "%s submit,read,admin,metrics %x\n", n, sha256.Sum256([]byte(n)))
	}
	text := fmt.Sprintf("data_dir = %q\n[http]\nlisten = \"127.0.0.1:0\"\ntoken_file = %q\n%s%s", r.data, r.tokens,
		r.limits, r.broken)
	for path, content := range map[string]string{r.tokens: tokens.String() + r.tokenProblems, r.config: text} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

func startReloading(t *testing.T) *reloading {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	dir := t.TempDir()
	r := &reloading{t: t, config: filepath.Join(dir, "judged.toml"), tokens: filepath.Join(dir, "tokens"),
		data: filepath.Join(dir, "data"), log: filepath.Join(dir, "log")}
	r.write("ann")
	cmd := command("serve", "-c", r.config)
	log, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	r.exited = exited
	r.signal = func(s syscall.Signal) {
		t.Helper()
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatalf("signal %s: %v", s, err)
		}
	}
	brake := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if !brake.Stop() || err != nil {
		t.Fatalf("daemon said %q, not its URL: %v", line, err)
	}
	r.url = strings.TrimSpace(line)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended unless the test failed
		if t.Failed() {
			t.Logf("it said:\n%s", r.said())
		}
	})
	return r
}

func (r *reloading) said() string {
	text, err := os.ReadFile(r.log)
	if err != nil {
		r.t.Error(err)
	}
	return string(text)
}

func (r *reloading) client(token string) client.Client {
	return client.Client{Base: r.url, Token: token}
}

// reload sends SIGHUP and waits for the line that says how it ended.
func (r *reloading) reload(want ...string) {
	r.t.Helper()
	before := len(r.said())
	r.signal(syscall.SIGHUP)
	var said string
	testkit.WaitFor(r.t, time.Minute, fmt.Sprintf("the log to have %q", want), func() bool {
		said = r.said()[before:]
		for _, w := range want {
			if !strings.Contains(said, w) {
				return false
			}
		}
		return true
	})
}

// status is what a caller with that token gets.
func (r *reloading) status(token string) int {
	_, err := r.client(token).Slots(r.t.Context())
	p := (*client.Problem)(nil)
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &p):
		return p.Status
	}
	r.t.Errorf("GET /v1/slots: %v", err)
	return 0
}

// submit is what a job with a limit of 10 s gets.
func (r *reloading) submit(token, id string) int {
	text := "#!/bin/sh\n"
	_, err := r.client(token).Submit(r.t.Context(), id,
		job.Job{Program: job.File{Text: &text}, Tests: []job.Test{{Name: "1"}}, Limits: job.Limits{CPUTimeMS: 10_000}})
	if p := (*client.Problem)(nil); errors.As(err, &p) {
		return p.Status
	} else if err != nil {
		r.t.Errorf("submit: %v", err)
	}
	return http.StatusAccepted
}

// TestReload: SIGHUP puts tokens and limits into effect, names what it leaves,
// refuses files with an error as a whole, and never ends the daemon.
func TestReload(t *testing.T) {
	r := startReloading(t)
	statuses := func() [2]int { return [2]int{r.status("ann"), r.status("bob")} }
	if got := [3]int{r.status("ann"), r.status("bob"), r.submit("ann", "before")}; got != [3]int{200, 401, 202} {
		t.Errorf("ann, bob, a job of 10 s: %v", got)
	}

	r.limits = "[limits.default]\ncpu_time = \"1s\"\n[limits.max]\ncpu_time = \"5s\"\n[log]\nlevel = \"debug\"\n"
	r.write("bob")
	r.reload("reloaded configuration and tokens", "by=SIGHUP",
		`changed="[limits.default.cpu_time limits.max.cpu_time log.level]"`, `tokens=[bob]`)
	if got := [3]int{r.status("ann"), r.status("bob"), r.submit("bob", "after")}; got != [3]int{401, 200, 400} {
		t.Errorf("after the first reload: ann, bob, a job of 10 s: %v", got)
	}
	if !strings.Contains(r.said(), "level=DEBUG") {
		t.Error("the log level did not change")
	}

	for _, tt := range []struct {
		name, broken, tokens, want string
	}{
		{"syntax", "[limits\n", "", "judged.toml:11:"},
		{"unknown key", "[queue]\nmost = 3\n", "", "judged.toml:12: queue.most: unknown key"},
		{"out of range", "[queue]\nmax_waiting = 0\n", "", "queue.max_waiting"},
		{"token file", "", "eve\n", "line 2: 1 fields"},
	} {
		r.broken, r.tokenProblems = tt.broken, tt.tokens
		r.write("ann")
		r.reload("cannot reload configuration and tokens; the current ones stay in force", "by=SIGHUP", tt.want)
		if diff := cmp.Diff([2]int{401, 200}, statuses()); diff != "" {
			t.Errorf("%s: ann and bob after it (-want +got):\n%s", tt.name, diff)
		}
	}

	r.broken, r.tokenProblems, r.data = "[slots]\npool = \"other\"\n", "", r.data+"2"
	r.write("ann", "bob")
	r.reload(`tokens="[ann bob]"`, "these settings need a restart of judged",
		`settings="[data_dir slots.pool]"`)
	if diff := cmp.Diff([2]int{200, 200}, statuses()); diff != "" {
		t.Errorf("ann and bob in the end (-want +got):\n%s", diff)
	}
	r.signal(syscall.SIGTERM)
	r.signal(syscall.SIGHUP)
	if err := <-r.exited; err != nil {
		t.Errorf("it ended with %v, want a drain", err)
	}
}

// TestLogsWhoDidIt holds the lines that operators look for.
func TestLogsWhoDidIt(t *testing.T) {
	r := startReloading(t)
	ctx, ann := context.WithTimeout(t.Context(), time.Minute)
	defer ann()
	c := r.client("ann")
	all, err := c.Slots(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cpus := all[0].CPUs
	if _, err := c.Drain(ctx, cpus, "new fan"); err != nil {
		t.Fatal(err)
	}
	if got := r.submit("ann", "waits"); got != http.StatusAccepted {
		t.Errorf("submit: %d", got)
	}
	if _, err := c.Cancel(ctx, "waits"); err != nil {
		t.Error(err)
	}
	if _, err := c.Undrain(ctx, cpus); err != nil {
		t.Error(err)
	}
	r.signal(syscall.SIGTERM)
	if err := <-r.exited; err != nil {
		t.Errorf("it ended with %v", err)
	}
	var got []string
	for line := range strings.Lines(r.said()) {
		if _, line, _ = strings.Cut(line, "level=INFO "); strings.Contains(line, "msg=") &&
			!strings.Contains(line, "fit to judge") {
			got = append(got, strings.ReplaceAll(strings.TrimSpace(line), `"`, "")) // some values need quotes
		}
	}
	want := []string{
		fmt.Sprintf(`msg=serving version=%s revision=%s role=all cpus=[%s] pool=default data_dir=%s address=%s`, version,
			revision(), cpus, r.data, strings.TrimPrefix(r.url, "http://")),
		fmt.Sprintf(`msg=drained a slot cpus=%s reason=new fan by=ann`, cpus),
		`msg=cancelled a job job=waits by=ann`,
		fmt.Sprintf(`msg=undrained a slot cpus=%s by=ann`, cpus),
		`msg=draining: running jobs are finished`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
