package metrics

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
)

// startFront builds judged, starts it as a front, which needs no slot, and returns its URL.
func startFront(t *testing.T, database string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "judged")
	if out, err := exec.Command("go", "build", "-o", program, "judged/cmd/judged").CombinedOutput(); err != nil {
		t.Fatalf("build judged: %v\n%s", err, out)
	}
	cmd := exec.Command(program, "serve", "--role", "front", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	cmd.Env = append(os.Environ(), "JUDGED_DATABASE_URL="+database)
	var log strings.Builder
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the front ended: %v\n%s", err, log.String())
		}
	})
	if err != nil {
		t.Fatalf("the front says no URL: %v", err)
	}
	return strings.TrimSpace(line)
}

// TestPrometheusScrapesAFront scrapes a whole front over HTTP, and evaluates what the dashboard shows of a front.
func TestPrometheusScrapesAFront(t *testing.T) {
	testkit.Need(t, testkit.Prometheus)
	front := startFront(t, testkit.StartPostgres(t).Database(t))
	p := startPrometheus(t, front)
	var targets struct {
		ActiveTargets []struct{ Health, LastError string }
	}
	defer func() {
		if t.Failed() {
			t.Logf("targets: %+v", targets)
		}
	}()
	testkit.WaitFor(t, time.Minute, "a scrape of the front", func() bool {
		p.get("/api/v1/targets", nil, &targets)
		return len(targets.ActiveTargets) == 1 && targets.ActiveTargets[0].Health == "up"
	})
	d := readDashboard(t)
	fill, values := p.variables(d)
	if diff := cmp.Diff(map[string][]string{"pool": {"default"}, "instance": {strings.TrimPrefix(front, "http://")},
		"node": {}, "slot": {}}, values); diff != "" {
		t.Errorf("values of the variables -want +got\n%s", diff)
	}
	var shown []string
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			if p.samples(fill(target.Expr)) > 0 {
				shown = append(shown, panel.Title)
			}
		}
	}
	for _, want := range []string{"Ready", "Hosts", "Free space for data", "Waiting jobs", "Judge nodes",
		"Waiting jobs by pool"} {
		if !slices.Contains(shown, want) {
			t.Errorf("panel %q has no data of a front", want)
		}
	}
}
