package judgehost

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/host/slots"
	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// hostVariable makes the test binary a judgehost with a fake engine. It holds the URL of the server, the name of the
// judgehost and its folder.
const hostVariable = "JUDGED_TEST_JUDGEHOST"

// hostMain judges for a server until SIGTERM.
func hostMain(arguments string) {
	words := strings.Fields(arguments)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println("SIGTERM is handled")
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	for ctx.Err() == nil { // like a service manager, if the server fails during the start
		if err := serveAsHost(ctx, quickServer(words[0], domserver.Password, log), words[1], words[2]); err != nil {
			log.Error("cannot judge; starting again", "error", err)
		}
	}
}

func serveAsHost(ctx context.Context, server Server, name, folder string) error {
	c, err := NewClient(server)
	if err != nil {
		return err
	}
	config, err := Await(ctx, c)
	if err != nil {
		return err
	}
	e := newFakeEngine(1)
	s, err := New(ctx, Options{Client: c, Config: config, Engine: e, Pool: slots.NewPool(e.Slots(), time.Now), Name: name,
		Folder: folder, Work: Work{Bytes: 1 << 20, Files: 100}, Log: server.Log})
	if err != nil {
		return err
	}
	s.Run(ctx, context.Background())
	return nil
}

// killedHost is a judgehost in its own process.
type killedHost struct {
	arguments string
	log       strings.Builder // of all its processes
	cmd       *exec.Cmd
}

func (h *killedHost) start(t *testing.T) {
	t.Helper()
	h.cmd = &exec.Cmd{Path: "/proc/self/exe", Env: []string{hostVariable + "=" + h.arguments}, Stderr: &h.log,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	out, err := h.cmd.StdoutPipe()
	if err == nil {
		err = h.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := h.cmd
	t.Cleanup(func() {
		if cmd.ProcessState == nil { // the test has failed
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Log(h.log.String())
		}
	})
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("wait until SIGTERM is handled: %v", err)
	}
}

func (h *killedHost) end(t *testing.T, s syscall.Signal) error {
	t.Helper()
	if err := h.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	return h.cmd.Wait()
}

// TestKilledHosts: two judgehosts share submissions. They are killed, and requests fail, at random points. Each
// test that a judging needs has one result, which is repeated only if its response was lost.
func TestKilledHosts(t *testing.T) {
	t.Parallel()
	submissions, kills := 300, 24
	if testing.Short() {
		submissions, kills = 60, 4
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	w.Batch = 3
	d := domserver.NewDisturber(rand.NewPCG(seed, 1), 10)
	w.Fault = d.Disturb
	p := w.problem("1", "2", "3", "4", "5")
	want := map[int]string{}
	results := map[string]string{"WA": resultWrong, "RTE": resultRunError, "TLE": resultTime, "OLE": resultOutputLimit}
	verdicts := slices.Sorted(maps.Keys(results))
	first := map[int]int{} // index of the test that decides
	for i := range submissions {
		// The test that fails may be one after the last.
		at, verdict := random.IntN(len(p.Tests)+2), verdicts[random.IntN(len(verdicts))]
		switch {
		case i%20 == 0:
			want[w.submit(p, fmt.Sprintf("compile error %d", i))] = "compiler-error"
		case at >= len(p.Tests):
			id := w.submit(p, fmt.Sprintf("n%d", i))
			want[id], first[id] = resultCorrect, len(p.Tests)-1
		default:
			id := w.submit(p, fmt.Sprintf("n%d\n%d %s\n", i, at+1, verdict))
			want[id], first[id] = results[verdict], at
		}
	}
	var hosts []*killedHost
	for _, name := range []string{"a", "b"} {
		h := &killedHost{arguments: strings.Join([]string{w.Base(), name, t.TempDir()}, " ")}
		h.start(t)
		hosts = append(hosts, h)
	}
	finished := func() bool {
		for id := range want {
			if w.Judging(id).Result == "" {
				return false
			}
		}
		return true
	}
	for i := range kills {
		until := d.Requests() + random.IntN(150)
		testkit.WaitFor(t, 2*time.Minute, "requests", func() bool { return d.Requests() >= until })
		h := hosts[i%len(hosts)]
		_ = h.end(t, syscall.SIGKILL) // killed
		h.start(t)
	}
	testkit.WaitFor(t, 4*time.Minute, "all judgings", finished)
	for _, h := range hosts {
		if err := h.end(t, syscall.SIGTERM); err != nil {
			t.Errorf("after SIGTERM: %v", err)
		}
	}
	got := map[int]string{}
	for id := range want {
		j := w.Judging(id)
		got[id] = j.Result
		for i, x := range j.Tasks {
			least, most := 0, 1+d.Lost(x.ID)
			if decides, compiled := first[id]; compiled && i <= decides {
				least = 1
			}
			if n := len(x.Results); n < least || n > most {
				t.Errorf("judging %d, test %d: %d results, want %d to %d", id, i+1, n, least, most)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got)\n%s", diff)
	}
	if len(w.Errors()) > 0 || len(w.Unfinished()) > 0 {
		t.Errorf("errors %+v, unfinished %v", w.Errors(), w.Unfinished())
	}
	w.clean()
	for _, h := range hosts {
		if strings.Contains(h.log.String(), domserver.Password) {
			t.Error("the log has the password")
		}
		if t.Failed() {
			t.Log(h.log.String())
		}
	}
}
