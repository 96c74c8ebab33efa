package metrics

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"judged/internal/testkit"
)

const (
	rulesFile     = "../../../deploy/prometheus/judged.rules.yml"
	rulesTestFile = "../../../deploy/prometheus/judged.rules.test.yml"
	dashboardFile = "../../../deploy/grafana/judged.json"
)

func readDeploy(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDeployNamesExistingMetrics checks that every series used by rules and the dashboard exists: a query for a
// misspelt one is not an error, but an alert that never fires.
func TestDeployNamesExistingMetrics(t *testing.T) {
	known := map[string]bool{}
	for line := range strings.Lines(exposition(t, fed())) {
		if f := strings.Fields(line); f[0] == "#" {
			known[f[2]] = true
		} else {
			name, _, _ := strings.Cut(f[0], "{")
			known[name] = true // of histograms too: _bucket, _sum, _count
		}
	}
	for line := range strings.Lines(readDeploy(t, rulesFile)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- record: "); ok {
			known[name] = true
		}
	}
	name := regexp.MustCompile(`[a-z_:0-9]*judged_[a-z_:0-9]+`)
	for _, file := range []string{rulesFile, rulesTestFile, dashboardFile} {
		found := name.FindAllString(readDeploy(t, file), -1)
		if len(found) < 10 {
			t.Errorf("%s names %d metrics, want more", file, len(found))
		}
		for _, n := range found {
			if !known[n] {
				t.Errorf("%s asks for %s, which does not exist", file, n)
			}
		}
	}
}

// TestEveryAlertHasSeverityAndRunbook checks that every alert has a severity and the next step.
func TestEveryAlertHasSeverityAndRunbook(t *testing.T) {
	alerts := strings.Split(readDeploy(t, rulesFile), "- alert: ")[1:]
	for _, a := range alerts {
		name, _, _ := strings.Cut(a, "\n")
		for _, want := range []string{"severity: page", "severity: ticket", "severity: info"} {
			a = strings.Replace(a, want, "severity ok", 1)
		}
		for _, want := range []string{"severity ok", "summary: ", "runbook: "} {
			if !strings.Contains(a, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
	if len(alerts) == 0 {
		t.Error("no alerts")
	}
}

func TestDashboard(t *testing.T) {
	dashboard := readDashboard(t)
	var rows []string
	seen := map[int]bool{}
	for _, p := range dashboard.Panels {
		if seen[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		seen[p.ID] = true
		if p.Type == "row" {
			rows = append(rows, p.Title)
		} else if len(p.Targets) == 0 || p.Targets[0].Expr == "" {
			t.Errorf("panel %q shows nothing", p.Title)
		}
	}
	if diff := cmp.Diff([]string{"Health", "Spread", "Causes", "Queue", "Slots", "Fleet"}, rows); diff != "" {
		t.Error(diff)
	}
}

// TestRulesWithPromtool checks that Prometheus accepts the rules, and fires the expected alerts in two recorded
// situations.
func TestRulesWithPromtool(t *testing.T) {
	testkit.Need(t, testkit.Promtool)
	for _, args := range [][]string{{"check", "rules", rulesFile}, {"test", "rules", rulesTestFile}} {
		if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestExpositionWithPromtool checks the exposition as a whole with promtool.
func TestExpositionWithPromtool(t *testing.T) {
	testkit.Need(t, testkit.Promtool)
	cmd := exec.Command("promtool", "check", "metrics")
	cmd.Stdin = strings.NewReader(exposition(t, fed()))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// alert is an alert of the rules.
type alert struct {
	Name   string            `yaml:"alert"`
	Labels map[string]string `yaml:"labels"`
	Says   struct {
		Summary string `yaml:"summary"`
		Runbook string `yaml:"runbook"`
	} `yaml:"annotations"`
}

const operationsFile = "../../../deploy/OPERATIONS.md"

// TestManualHasTheAlerts checks that the manual has what the rules say of each alert. With -update it writes that.
func TestManualHasTheAlerts(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []alert `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal([]byte(readDeploy(t, rulesFile)), &rules); err != nil {
		t.Fatal(err)
	}
	// What an alert fills in, in words: {{ $labels.cpus }} is the cpus.
	filled := regexp.MustCompile(`\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}`)
	inWords := func(text string) string { return filled.ReplaceAllString(text, "*$1*") }
	var b strings.Builder
	for _, g := range rules.Groups {
		for _, a := range g.Rules {
			if a.Name != "" {
				fmt.Fprintf(&b, "\n### %s\n\n`%s`: %s.\n\n%s\n", a.Name, a.Labels["severity"], inWords(a.Says.Summary),
					inWords(a.Says.Runbook))
			}
		}
	}
	const heading = "\n## Alerts\n"
	manual := readDeploy(t, operationsFile)
	before, section, found := strings.Cut(manual, heading)
	at := strings.Index(section, "\n### ")
	if !found || b.Len() == 0 {
		t.Fatalf("the manual has a section Alerts: %t; the rules have alerts: %t", found, b.Len() > 0)
	}
	if at < 0 {
		at = len(section)
	}
	if *update {
		text := before + heading + section[:at] + b.String()
		if err := os.WriteFile(filepath.FromSlash(operationsFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(b.String(), section[at:]); diff != "" {
		t.Errorf("the section Alerts of the manual; run with -update (-want +got)\n%s", diff)
	}
}
