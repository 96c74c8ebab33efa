package guestlab

import (
	"bufio"
	"bytes"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"

	"judged/internal/client"
	"judged/internal/testkit"
)

// daemon is a running judged serve.
type daemon struct {
	client.Client
	cmd    *exec.Cmd
	stderr *bytes.Buffer
}

func serve(t *testing.T, args ...string) *daemon {
	t.Helper()
	cmd, stderr := command(t, nil, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	return start(t, cmd, stderr)
}

// start waits until a daemon is ready.
func start(t *testing.T, cmd *exec.Cmd, stderr *bytes.Buffer) *daemon {
	t.Helper()
	d := &daemon{cmd: cmd, stderr: stderr}
	// No canaries, so that idle slots are really idle.
	d.cmd.Env = append(d.cmd.Environ(), "JUDGED_CANARY_INTERVAL=")
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = d.cmd.Wait()
		t.Fatalf("judged serve said nothing: %v\n%s", err, d.stderr)
	}
	// Connections are not reused: open ones would count as leftovers.
	d.Client = client.Client{Base: strings.TrimSpace(url),
		HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	testkit.WaitFor(t, patience, "the daemon to be ready", func() bool { return d.Ready(t.Context()) == nil })
	return d
}

// stop drains and stops the daemon.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("the drained daemon ended with %v\n%s", err, d.stderr)
	}
}

func (d *daemon) pid() string { return strconv.Itoa(d.cmd.Process.Pid) }

// allowed returns the CPUs that the daemon's threads may run on.
func (d *daemon) allowed(t *testing.T) string { return status(t, d.pid(), "Cpus_allowed_list") }

// checkPlacement checks with the daemon's own doctor where its threads are.
func (d *daemon) checkPlacement(t *testing.T) {
	t.Helper()
	r, err := d.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]api.DoctorStatus{"daemon-placement": api.DoctorPass, "sched-isolated": api.DoctorPass,
		"width-vs-isolation": api.DoctorPass}
	if diff := cmp.Diff(want, only(statuses(r), want)); diff != "" {
		t.Errorf("the daemon's doctor (-want +got):\n%s", diff)
	}
}

// nodes returns the slots and the NUMA nodes of their memory.
func (d *daemon) nodes(t *testing.T) map[string]int {
	t.Helper()
	list, err := d.Slots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]int{}
	for _, s := range list {
		nodes[s.CPUs] = s.Node
	}
	return nodes
}

// submitAll runs judged submit n times concurrently, without waiting for the jobs, and returns their IDs.
func (d *daemon) submitAll(t *testing.T, n int, args ...string) []string {
	t.Helper()
	ids := make([]string, n)
	var all sync.WaitGroup
	for i := range ids {
		cmd, stderr := command(t, nil, append([]string{"submit", "--url", d.Base, "--detach"}, args...)...)
		all.Go(func() {
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("judged submit: %v\n%s", err, stderr)
			}
			ids[i] = strings.TrimSpace(string(out))
		})
	}
	all.Wait()
	return ids
}
