package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
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

func newDOMjudge(t testing.TB) *domjudgeServer {
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
func settingsFor(t testing.TB, s *domjudgeServer) (c config.Config, account string) {
	c = settings(t)
	account = filepath.Join(t.TempDir(), "account")
	c.Fleet.Role = config.RoleJudge
	c.Judgehost = config.Judgehost{URL: s.Base(), CredentialsFile: account, Name: "room"}
	return c, account
}

func writeAccount(t testing.TB, path, password string) {
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
	if err != nil || len(list) == 0 || list[0].Judgehost != "room-0" || list[0].JudgehostEnabled == nil ||
		!*list[0].JudgehostEnabled {
		t.Fatalf("slots %+v, %v; want the first to be room-0, and enabled", list, err)
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

// BenchmarkDOMjudge measures, in every round, a submission with a hundred small tests for a DOMjudge server that hands
// them out in batches of 25, from the report of its compilation to the last result, and the same tests with the same
// checker as one job over HTTP.
func BenchmarkDOMjudge(b *testing.B) {
	const tests = 100
	s := newDOMjudge(b)
	s.Batch, s.problem.Tests = 25, nil
	c, account := settingsFor(b, s)
	writeAccount(b, account, domserver.Password)
	own := serving(b, settings(b))
	path := binary(b, "sum/AC-sum.c")
	program, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	digest, err := own.PutBlobFile(own.ctx, path)
	if err != nil {
		b.Fatal(err)
	}
	job := api.Job{Program: api.File{Blob: digest}, Checker: &api.Checker{Kind: string(api.ICPC), Program: text(domCompare)}}
	for n := range tests {
		input, answer := fmt.Sprintf("2\n1 %d\n", n), fmt.Sprintln(1+n)
		s.problem.Tests = append(s.problem.Tests, s.AddTestcase(input, answer))
		job.Tests = append(job.Tests, api.Test{Name: fmt.Sprint(n), Input: &api.File{Blob: own.putText(b, input)},
			Answer: &api.File{Blob: own.putText(b, answer)}})
	}
	begun, ended := make(chan time.Time, 1), make(chan time.Time, 1)
	var results atomic.Int64
	s.Fault = func(_, path string) *domserver.Fault {
		switch {
		case strings.HasPrefix(path, "judgehosts/update-judging/"):
			begun <- time.Now()
		case strings.HasPrefix(path, "judgehosts/add-judging-run/") && results.Add(1)%tests == 0:
			ended <- time.Now()
		}
		return nil
	}
	await := func(moment <-chan time.Time) time.Time {
		select {
		case at := <-moment:
			return at
		case <-time.After(patience):
			b.Fatalf("no results: errors %+v, complaints %q", s.Errors(), s.Complaints())
			return time.Time{}
		}
	}
	d := serving(b, c)
	var direct, door []time.Duration
	for b.Loop() {
		id := s.Submit(domserver.Submission{Language: s.language, Problem: s.problem,
			Files: []domserver.File{{Name: "a.sh", Content: string(program)}}})
		begin := await(begun)
		door = append(door, await(ended).Sub(begin))
		testkit.WaitFor(b, patience, "the verdict", func() bool { return s.Judging(id).Result == "correct" })
		begin = time.Now()
		own.judgeOne(b, fmt.Sprint("same-", id), job)
		direct = append(direct, time.Since(begin))
	}
	b.ReportMetric(p50(direct)/1e3, "own-p50-ms")
	b.ReportMetric(p50(door)/1e3, "domjudge-p50-ms")
	b.ReportMetric(p50(door)/p50(direct), "domjudge/own")
	own.drain()
	d.drain()
}
