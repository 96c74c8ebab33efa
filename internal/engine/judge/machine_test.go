package judge_test

import (
	"regexp"
	"testing"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/testkit"
)

// TestRuntimesSeeTheSlot: runtimes detect the CPUs of the slot without /proc/cpuinfo, /proc/stat and /sys.
// deploy/LANGUAGES.md lists what they cannot detect.
func TestRuntimesSeeTheSlot(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Python, testkit.Java, testkit.Node)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	for _, tt := range []struct {
		name    string
		command []string
		want    string // regular expression
	}{
		{"nproc", []string{"nproc"}, `^1\n$`},
		{"python", []string{"python3", "-c", "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))"},
			`^1 1\n$`},
		{"node", []string{"node", "-e", "const os = require('os')\n" +
			"console.log(os.availableParallelism ? os.availableParallelism() : 1, os.cpus().length)"}, `^1 0\n$`},
		{"java", []string{"java", "-Xlog:gc+init", "-version"}, `CPUs: 1 total, 1 available\n`},
		{"files", []string{"sh", "-c", "ls -d /proc/cpuinfo /proc/stat /proc/meminfo /sys 2>/dev/null; true"}, `^$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := judgeTalk(t, eng, api.Job{Command: tt.command, Head: 4 << 10, Tests: []api.Test{{Name: "1"}},
				Limits: api.Limits{CPUTimeMS: 20_000, Memory: 1 << 30}})
			if got := r.Tests[0].StdoutHead; r.Verdict != api.Accepted || !regexp.MustCompile(tt.want).MatchString(*got) {
				t.Errorf("%s: %q, want %s%s", r.Verdict, *got, tt.want, tell(r))
			}
		})
	}
}
