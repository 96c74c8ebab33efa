package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"judged/internal/testkit"
)

// peers are commands that run one program once. Those that are installed are measured. The commands of one peer run one
// after the other; PROGRAM is the path of the program and FOLDER that of its folder.
var peers = []struct {
	name     string
	commands []string
}{
	{"judged run", []string{"judged run --time-limit 1s PROGRAM"}},
	{"isolate", []string{"isolate --box-id=0 --init",
		"isolate --box-id=0 --dir=program=FOLDER --run -- /program/program", "isolate --box-id=0 --cleanup"}},
	{"bwrap", []string{"bwrap --unshare-all --die-with-parent --ro-bind FOLDER /program --proc /proc --dev /dev " +
		"/program/program"}},
}

// BenchmarkPeers measures, in every round, a bare run, a job over HTTP, and the same program under each of the peers.
// It reports their ratios to the bare run, and by how much the ratios differ between the first and the second half of
// the rounds.
func BenchmarkPeers(b *testing.B) { yardsticks(b, benchmarkPeers) }

func benchmarkPeers(b *testing.B, path string) {
	d, j := loaded(b, path)
	folder := b.TempDir()
	program := filepath.Join(folder, "program")
	if err := os.Link(path, program); err != nil {
		b.Fatal(err)
	}
	n := 0
	rows := map[string]func() time.Duration{
		"bare": func() time.Duration { return bareRun(b, program) },
		"job": func() time.Duration {
			begin := time.Now()
			n++
			d.judgeOne(b, "job-"+strconv.Itoa(n), j)
			return time.Since(begin)
		},
	}
	tools := filepath.Join(testkit.RepoRoot(b), "bin") + ":" + os.Getenv("PATH")
	b.Setenv("PATH", tools)
	names := strings.NewReplacer("PROGRAM", program, "FOLDER", folder)
	for _, p := range peers {
		if tool := strings.Fields(p.name)[0]; !installed(tool) {
			b.Logf("%s is not in PATH: skipped", tool)
			continue
		}
		rows[strings.ReplaceAll(p.name, " ", "-")] = func() time.Duration {
			begin := time.Now()
			for _, command := range p.commands {
				words := strings.Fields(names.Replace(command))
				if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
					b.Fatalf("%s: %v\n%s", command, err, out)
				}
			}
			return time.Since(begin)
		}
	}
	took := map[string][]time.Duration{}
	for b.Loop() {
		for name, run := range rows { // in a different order each time
			took[name] = append(took[name], run())
		}
	}
	ratio := func(name string, from, to int) float64 { return p50(took[name][from:to]) / p50(took["bare"][from:to]) }
	for name, all := range took {
		b.ReportMetric(p50(all), name+"-p50-us")
		if half := len(all) / 2; name != "bare" && half > 0 {
			r := ratio(name, 0, len(all))
			b.ReportMetric(r, name+"/bare")
			spread := (ratio(name, 0, half) - ratio(name, half, len(all))) / r * 100
			b.ReportMetric(max(spread, -spread), name+"-spread-percent")
		}
	}
	d.drain()
}

func installed(tool string) bool {
	_, err := exec.LookPath(tool)
	return err == nil
}
