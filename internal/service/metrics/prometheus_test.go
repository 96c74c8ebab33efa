package metrics

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
)

// promServer is a server that scrapes the metrics of judged every three seconds, the longest time that a scrape may take:
// no expression has a value after one that failed.
type promServer struct {
	t   *testing.T
	url string
}

// startPrometheus starts one with the alert rules.
func startPrometheus(t *testing.T, target string) promServer {
	t.Helper()
	rules, err := filepath.Abs(filepath.FromSlash(rulesFile))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	settings := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, `global: {scrape_interval: 3s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs: [{job_name: judged, scrape_timeout: 3s, static_configs: [{targets: [%q]}]}]
`, rules, strings.TrimPrefix(target, "http://")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("prometheus", "--config.file", settings, "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", "127.0.0.1:0", "--log.format", "json")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // its exit status says nothing about judged
	})
	var log strings.Builder
	for s := bufio.NewScanner(stderr); s.Scan(); {
		log.WriteString(s.Text() + "\n")
		var line struct{ Msg, Address string }
		if json.Unmarshal(s.Bytes(), &line) == nil && strings.EqualFold(line.Msg, "listening on") {
			go func() {
				for s.Scan() { // it must not wait for a reader
				}
			}()
			p := promServer{t, "http://" + line.Address}
			testkit.WaitFor(t, time.Minute, "Prometheus to be ready", p.ready)
			return p
		}
	}
	t.Fatalf("prometheus says no address:\n%s", log.String())
	return promServer{}
}

func (p promServer) ready() bool {
	r, err := http.Get(p.url + "/-/ready")
	if err != nil {
		return false
	}
	r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// get decodes what an address of the API returns.
func (p promServer) get(path string, query url.Values, into any) {
	p.t.Helper()
	r, err := http.Get(p.url + path + "?" + query.Encode())
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.Status != "success" {
		p.t.Errorf("%s %s: %s: %s, %v", path, query, r.Status, answer.Error, err)
		return
	}
	if err := json.Unmarshal(answer.Data, into); err != nil {
		p.t.Fatal(err)
	}
}

// samples returns how many an expression has.
func (p promServer) samples(expr string) int {
	p.t.Helper()
	var data struct{ Result []json.RawMessage }
	p.get("/api/v1/query", url.Values{"query": {expr}}, &data)
	return len(data.Result)
}

// dashboard holds the part of a Grafana dashboard file that tests read.
type dashboard struct {
	Templating struct {
		List []struct {
			Name, Type string
			Query      json.RawMessage
		}
	}
	Panels []struct {
		ID          int
		Type, Title string
		Targets     []struct{ Expr string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal([]byte(readDeploy(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// variables returns the values of the variables of a dashboard, and a function that replaces each in an expression as
// Grafana does if all values are selected.
func (p promServer) variables(d dashboard) (fill func(expr string) string, all map[string][]string) {
	p.t.Helper()
	text := map[string]string{"__rate_interval": "1m"}
	name := regexp.MustCompile(`\$\w+`)
	fill = func(expr string) string {
		return name.ReplaceAllStringFunc(expr, func(v string) string {
			value, known := text[v[1:]]
			if !known {
				p.t.Errorf("%s uses the variable %s, which is not declared before it", expr, v)
			}
			return value
		})
	}
	all = map[string][]string{}
	labelValues := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		var query struct{ Query string }
		if err := json.Unmarshal(v.Query, &query); err != nil {
			p.t.Fatal(err)
		}
		parts := labelValues.FindStringSubmatch(query.Query)
		if parts == nil {
			p.t.Fatalf("variable %s: unknown query %q", v.Name, query.Query)
		}
		var values []string
		p.get("/api/v1/label/"+parts[2]+"/values", url.Values{"match[]": {fill(parts[1])}}, &values)
		all[v.Name] = values
		var quoted []string
		for _, value := range values {
			quoted = append(quoted, strings.ReplaceAll(regexp.QuoteMeta(value), `\`, `\\`))
		}
		text[v.Name] = "(" + strings.Join(quoted, "|") + ")"
	}
	return fill, all
}

// TestPrometheus lets a server scrape judged, load the rules, and evaluate each expression of the dashboard.
func TestPrometheus(t *testing.T) {
	testkit.Need(t, testkit.Prometheus)
	m := fed()
	judged := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.JobDone(report(), 1500*ms)
		m.Handler().ServeHTTP(w, r)
	}))
	defer judged.Close()
	p := startPrometheus(t, judged.URL)
	// Rates need two scrapes.
	testkit.WaitFor(t, time.Minute, "scrapes", func() bool {
		return p.samples("instance:judged_discarded:ratio15m") > 0 && p.samples("instance:judged_repeat_spread:p95_6h") > 0
	})
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	testkit.WaitFor(t, time.Minute, "evaluations of all rules", func() bool {
		p.get("/api/v1/rules", nil, &rules)
		for _, g := range rules.Groups {
			for _, r := range g.Rules {
				if r.Health == "unknown" {
					return false
				}
			}
		}
		return len(rules.Groups) > 0
	})
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				t.Errorf("rule %s: %s: %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	dashboard := readDashboard(t)
	fill, values := p.variables(dashboard)
	instance := strings.TrimPrefix(judged.URL, "http://")
	if diff := cmp.Diff(map[string][]string{"pool": {"default", "metal"}, "instance": {instance},
		"node": {"judge-1", "judge-2"}, "slot": {"2", "3"}}, values); diff != "" {
		t.Errorf("values of the variables -want +got\n%s", diff)
	}
	var empty []string
	evaluated := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expr := fill(target.Expr)
			if evaluated++; p.samples(expr) == 0 {
				empty = append(empty, panel.Title)
			}
		}
	}
	if diff := cmp.Diff([]string(nil), empty); diff != "" || evaluated < 30 {
		t.Errorf("of %d expressions, panels without data -want +got\n%s", evaluated, diff)
	}
}
