package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

// patience is the timeout for everything that is expected to happen. It is not a promise: it distinguishes a slow
// machine from a daemon that hangs.
const patience = 2 * time.Minute

// settings returns settings for a daemon with a new data folder, a free port, and user IDs that no other daemon of a test
// on this host uses.
func settings(t testing.TB) config.Config {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	c := config.Default()
	c.DataDir = filepath.Join(t.TempDir(), "data")
	c.HTTP.Listen = "127.0.0.1:0"
	c.HTTP.MaxBody, c.HTTP.MaxBlob = 4<<20, 4<<20
	c.Sandbox.UIDFirst, c.Sandbox.UIDCount = newUIDs(), uidCount
	c.Canary.Interval = 0 // so that idle slots stay idle
	return c
}

const (
	uidCount  = 1000
	uidRanges = 200 // of each test binary
)

// ranges is the number of user ID ranges that this binary has used.
var ranges atomic.Int64

func newUIDs() (first int) {
	return 1_000_000 + (os.Getpid()%10_000*uidRanges+int(ranges.Add(1)%uidRanges))*uidCount
}

// process is a started daemon, whether or not it serves yet.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	log    string // path of its stderr
	tmp    string // its folder for temporary files
	uid    int    // the first of its user IDs
	stdout *bufio.Reader
	ended  chan struct{} // closed when it was reaped
}

// launch starts a daemon without waiting for it.
func launch(t testing.TB, c config.Config, env ...string) *process {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	p := &process{
		t:      t,
		cmd:    exec.Command(os.Args[0]),
		log:    log.Name(),
		tmp:    t.TempDir(),
		uid:    c.Sandbox.UIDFirst,
		stdout: bufio.NewReader(read),
		ended:  make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(), append(env, serveEnv+"="+string(text), "TMPDIR="+p.tmp)...)
	p.cmd.Stdout, p.cmd.Stderr = write, log
	// The session identifies its orphans.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // only its exit code matters
	}()
	t.Cleanup(func() {
		p.kill()
		read.Close()
		if t.Failed() {
			t.Logf("daemon %d said:\n%s", p.cmd.Process.Pid, tail(p.said()))
		}
	})
	return p
}

func tail(text string) string {
	const most = 4 << 10
	return text[max(0, len(text)-most):]
}

func (p *process) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Error(err)
	}
	return string(text)
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signal daemon: %v", err)
	}
}

// kill kills the daemon.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have exited
	<-p.ended
}

// exit waits for the daemon to exit by itself, and returns its exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("daemon did not end; it said:\n%s", tail(p.said()))
		return -1
	}
}

// url returns the first line of stdout, or "" if the daemon exited before printing it.
func (p *process) url() string {
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		return ""
	}
	return strings.TrimSpace(line)
}

// instance is a daemon that is serving.
type instance struct {
	*process
	client.Client
	ctx context.Context
}

// serving starts a daemon and waits until it serves.
func serving(t testing.TB, c config.Config, env ...string) *instance {
	t.Helper()
	return launch(t, c, env...).serving()
}

// serving waits until a daemon serves.
func (p *process) serving() *instance {
	t := p.t
	t.Helper()
	url := p.url()
	if url == "" {
		t.Fatalf("daemon ended with code %d and said:\n%s", p.exit(), tail(p.said()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	t.Cleanup(cancel)
	return &instance{process: p, Client: newClient(t, url), ctx: ctx}
}

// newClient returns a client whose connections close at the end of the test.
func newClient(t testing.TB, url string) client.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return client.Client{Base: url, HTTP: &http.Client{Transport: transport}}
}

// drain stops the daemon as an operator does, and checks that it exits with code 0.
func (i *instance) drain() {
	i.t.Helper()
	i.signal(syscall.SIGTERM)
	if code := i.exit(); code != 0 {
		i.t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
}

// submit submits a job that must be accepted.
func (i *instance) submit(id string, j api.Job) api.Report {
	i.t.Helper()
	r, err := i.Submit(i.ctx, id, j)
	if err != nil {
		i.t.Fatalf("submit job %q: %v", id, err)
	}
	return r
}

// finish waits for the report of a job.
func (i *instance) finish(id string) api.Report {
	i.t.Helper()
	r, err := i.Wait(i.ctx, id)
	if err != nil {
		i.t.Fatalf("wait for job %q: %v", id, err)
	}
	return r
}

// reach waits until a job is in a state.
func (i *instance) reach(id string, want api.State) {
	i.t.Helper()
	testkit.WaitFor(i.t, patience, "job "+id+" to be "+string(want), func() bool {
		r, err := i.Job(i.ctx, id, 0)
		return err == nil && r.State == want
	})
}

// idle waits until all slots are idle and no run is left.
func (i *instance) idle() {
	i.t.Helper()
	testkit.WaitFor(i.t, patience, "all slots to be idle and empty", func() bool {
		all, err := i.Slots(i.ctx)
		if err != nil {
			return false
		}
		for _, s := range all {
			if s.State != "idle" {
				return false
			}
		}
		return len(programs(i.uid)) == 0
	})
}

// inspect returns the reports in the database of a daemon that has exited.
func inspect(t *testing.T, c config.Config) map[string]api.Report {
	t.Helper()
	s, err := jobs.Open(t.Context(), jobs.Options{URL: c.Database.URL, File: filepath.Join(c.DataDir, "judged.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := map[string]api.Report{}
	for after := ""; ; {
		page, next, err := s.List(t.Context(), jobs.Filter{After: after, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			all[r.ID] = r
		}
		if after = next; next == "" {
			return all
		}
	}
}
