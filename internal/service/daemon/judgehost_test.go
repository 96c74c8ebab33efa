package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/config"
	"judged/internal/base/cpuset"
	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// The scripts of a DOMjudge server: a submission in the language is the program itself.
const (
	domCompile = "#!/bin/sh\ncp \"$3\" \"$1\" && chmod +x \"$1\"\n"
	domCompare = "#!/bin/sh\nread -r got\nread -r want <\"$2\"\n[ \"$got\" = \"$want\" ] && exit 42\nexit 43\n"
	domRun     = "#!/bin/sh\nIN=\"$1\"; shift\nOUT=\"$1\"; shift\nexec \"$@\" < \"$IN\" > \"$OUT\"\n"
)

// domjudgeServer is a server with a problem that asks for twice the input.
type domjudgeServer struct {
	*domserver.Server
	problem  domserver.Problem
	language domserver.Language
	away     atomic.Bool
}

func newDOMjudge(t *testing.T) *domjudgeServer {
	s := &domjudgeServer{Server: domserver.New(t)}
	s.Fault = func(string, string) *domserver.Fault {
		if s.away.Load() {
			return &domserver.Fault{CutBefore: true}
		}
		return nil
	}
	script := func(text string) domserver.Executable {
		return s.AddExecutable(domserver.File{Name: "run", Content: text, Exec: true})
	}
	s.language = domserver.Language{Extensions: []string{"sh"}, Compile: script(domCompile)}
	s.problem = domserver.Problem{TimeLimit: 5, Run: script(domRun), Compare: script(domCompare)}
	for i := range 4 {
		s.problem.Tests = append(s.problem.Tests, s.AddTestcase(fmt.Sprintln(i), fmt.Sprintln(2*i)))
	}
	return s
}

// submit submits a program that runs a command before it answers.
func (s *domjudgeServer) submit(command string) int {
	return s.Submit(domserver.Submission{Language: s.language, Problem: s.problem, Files: []domserver.File{{Name: "a.sh",
		Content: "#!/bin/sh\nread -r n\n" + command + "\necho $((2 * n))\n"}}})
}

// settingsFor returns the settings of a judge for a server, and the path of the file with the account.
func settingsFor(t *testing.T, s *domjudgeServer) (c config.Config, account string) {
	c = settings(t)
	account = filepath.Join(t.TempDir(), "account")
	c.Fleet.Role = config.RoleJudge
	c.Judgehost = config.Judgehost{URL: s.Base(), CredentialsFile: account, Name: "room"}
	return c, account
}

func writeAccount(t *testing.T, path, password string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(domserver.User+" "+password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// unready waits until the daemon is not ready for a reason.
func (i *instance) unready(why string) {
	i.t.Helper()
	testkit.WaitFor(i.t, patience, "readyz to say "+why, func() bool {
		err := i.Ready(i.ctx)
		return err != nil && strings.Contains(err.Error(), why)
	})
}

func (i *instance) ready() {
	i.t.Helper()
	testkit.WaitFor(i.t, patience, "the daemon to be ready", func() bool { return i.Ready(i.ctx) == nil })
}

// TestDOMjudge is the life of a daemon whose slots judge for a DOMjudge server: wrong account, reload, work, a drained
// slot, a server that is away, and a shutdown that gives back what waits.
func TestDOMjudge(t *testing.T) {
	s := newDOMjudge(t)
	c, account := settingsFor(t, s)
	refuses(t, c, "judgehost.credentials_file", account, "give a file that exists")
	writeAccount(t, account, "wrong")
	w := watchTraces(t)
	d := serving(t, c)
	w.add(d.process)
	d.unready("refuses the credentials (status 401)")
	writeAccount(t, account, domserver.Password)
	d.signal(syscall.SIGHUP)
	d.ready()

	result := func(id int) string {
		t.Helper()
		testkit.WaitFor(t, patience, fmt.Sprintf("judging %d", id), func() bool { return s.Judging(id).Result != "" })
		return s.Judging(id).Result
	}
	got := []string{result(s.submit("")), result(s.submit("n=7")), result(s.submit("exit 3"))}
	if diff := cmp.Diff([]string{"correct", "wrong-answer", "run-error"}, got); diff != "" {
		t.Errorf("results (-want +got)\n%s", diff)
	}
	if text := string(d.ask("GET", "/metrics", nil).body); !strings.Contains(text, `judged_runs_total{verdict="RTE"} 1`) {
		t.Error("the metrics lack the run that failed")
	}

	list, err := d.Slots(d.ctx)
	if err != nil || len(list) == 0 || list[0].Judgehost != "room-0" {
		t.Fatalf("slots %+v, %v; want the first to be room-0", list, err)
	}
	slot, err := cpuset.Parse(list[0].CPUs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Drain(d.ctx, slot.String(), "test"); err != nil {
		t.Fatal(err)
	}
	d.unready("no slot is in use")
	later := s.submit("")
	if r := s.Judging(later).Result; r != "" {
		t.Errorf("a drained slot judges: %s", r)
	}
	if _, err := d.Undrain(d.ctx, slot.String()); err != nil {
		t.Fatal(err)
	}
	if r := result(later); r != "correct" {
		t.Errorf("after the drain: %s", r)
	}

	s.away.Store(true)
	d.unready("no work from the DOMjudge server")
	waits := s.submit("")
	s.away.Store(false)
	d.ready()
	if r := result(waits); r != "correct" {
		t.Errorf("after the server was away: %s", r)
	}

	last := s.submit("sleep 2")
	testkit.WaitFor(t, patience, "the judging", func() bool { return len(s.Judging(last).Compiled) > 0 })
	d.drain()
	j := s.Judging(last)
	if n := len(j.Tasks[0].Results) + len(j.Tasks[3].Results); n > 1 || len(s.Unfinished()) > 0 {
		t.Errorf("%d results of the first and the last test, unfinished %v", n, s.Unfinished())
	}
	if len(s.Complaints())+len(s.Errors()) > 0 || strings.Contains(d.said(), domserver.Password) {
		t.Errorf("complaints %q, errors %+v; or the log has the password", s.Complaints(), s.Errors())
	}
	w.none()
}
