package config

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
)

const reference = "../../../configs/judged.toml"

func TestReferenceFileSaysTheDefaults(t *testing.T) {
	got, err := Load(reference, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), got); diff != "" {
		t.Errorf("configs/judged.toml differs from Default (-Default +file):\n%s", diff)
	}
}

func TestReferenceFileExplainsEveryKey(t *testing.T) {
	data, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	lines := lineNumbers(data)
	text := strings.Split(string(data), "\n")
	c := Default()
	for _, k := range keys(&c) {
		n, ok := lines[k.path]
		if !ok {
			t.Errorf("%s is missing from the reference file", k.path)
			continue
		}
		// A group of keys shares the comment above its first key.
		above := n - 2
		for above > 0 && strings.Contains(text[above], " = ") && !strings.HasPrefix(text[above], "#") {
			above--
		}
		if !strings.HasPrefix(text[above], "# ") {
			t.Errorf("%s has no comment above line %d", k.path, n)
		}
	}
}

func TestDefaultIsValid(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

func TestFileThenEnvironment(t *testing.T) {
	file := write(t, `
data_dir = "/srv/j"
[http]
max_body = "1MiB"
listen = "127.0.0.1:0"
[slots]
cpu_list = "0xc"
strict = true
[limits.default]
cpu_time = "1500ms"
[queue]
max_deliver = 5
[callbacks]
secret_file = "s"
allow = ["10.0.0.0/8", "platform.example.org"]
`)
	got, err := Load(file, []string{
		"JUDGED_HTTP_MAX_BODY=2MiB", "JUDGED_LIMITS_MAX_TESTS=7", "JUDGED_SLOTS_STRICT=false",
		"JUDGED_TOKEN=abc", "JUDGED_TEST_REQUIRE=all", "PATH=/bin", "JUDGED_LIMITS_DEFAULT_WALL_TIME=",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.DataDir = "/srv/j"
	want.HTTP.MaxBody, want.HTTP.Listen = 2<<20, "127.0.0.1:0"
	want.Slots.CPUList = cpuset.New(2, 3)
	want.Limits.Default.CPUTime = 1500 * time.Millisecond
	want.Limits.Max.Tests = 7
	want.Queue.MaxDeliver = 5
	want.Callbacks = Callbacks{SecretFile: "s", Allow: []string{"10.0.0.0/8", "platform.example.org"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadErrors(t *testing.T) {
	tests := []struct {
		name, file string
		env        []string
		want       []string // in the error, in this order
	}{
		{"unknown key", "[http]\n\nlisen = \"x\"\n", nil,
			[]string{":3: http.lisen: unknown key; use one of cert_file, key_file, listen, max_blob"}},
		{"unknown section", "[htp]\nlisten = \"x\"\n", nil,
			[]string{":2: htp.listen: unknown key; use one of audit, blobs, callbacks, canary, data_dir"}},
		{"unknown empty section", "[htp]\n", nil, []string{":1: htp: unknown key"}},
		{"unknown key of a nested section", "[limits.default]\nram = 1\n", nil,
			[]string{":2: limits.default.ram: unknown key; use one of cpu_time, memory"}},
		{"every finding", "a = 1\n[log]\nb = 1\n", nil, []string{":1: a: unknown", ":3: log.b: unknown"}},
		{"bare duration", "[limits.max]\ncpu_time = 2\n", nil,
			[]string{":2: limits.max.cpu_time: 2 does not fit; write a duration"}},
		{"duration without unit", "[limits.max]\ncpu_time = \"2\"\n", nil,
			[]string{":2: limits.max.cpu_time: ", "missing unit", "such as \"2s\""}},
		{"bare size", "[http]\nmax_body = 64\n", nil, []string{":2: http.max_body: 64 does not fit; write a size"}},
		{"decimal size", "[http]\nmax_body = \"64MB\"\n", nil, []string{":2: http.max_body: ", "64MB", "MiB"}},
		{"quoted count", "[slots]\nwidth = \"1\"\n", nil,
			[]string{":2: slots.width: \"1\" is text; write int without quotes"}},
		{"text for a section", "http = \"x\"\n", nil, []string{":1: http: unknown key"}},
		{"section for a key", "[data_dir]\nx = 1\n", nil, []string{":2: data_dir.x: unknown key"}},
		{"no list", "[callbacks]\nallow = [\"a\", 1]\n", nil,
			[]string{`:2: callbacks.allow: [a 1] does not fit; write a list of texts, such as ["a", "b"]`}},
		{"array", "[slots]\ncpu_list = [2, 3]\n", nil, []string{":2: slots.cpu_list: [2 3] does not fit; write CPUs"}},
		{"syntax", "[http]\nlisten = \n", nil, []string{":2: "}},
		{"duplicate", "[log]\nlevel = \"info\"\nlevel = \"warn\"\n", nil, []string{":3: "}},
		{"cpu list", "[slots]\ncpu_list = \"3-2\"\n", nil, []string{":2: slots.cpu_list: ", "3-2"}},
		{"environment value", "", []string{"JUDGED_LIMITS_MAX_TESTS=many"},
			[]string{"JUDGED_LIMITS_MAX_TESTS: ", "many", "whole number"}},
		{"environment key", "", []string{"JUDGED_HTTP_LISEN=x"}, []string{"JUDGED_HTTP_LISEN: unknown key"}},
		// A variable of a template that was not filled in must not remove protection or the database of the file.
		{"empty variable of a protection", "[http]\ntoken_file = \"tokens\"\n", []string{"JUDGED_HTTP_TOKEN_FILE="},
			[]string{"JUDGED_HTTP_TOKEN_FILE: empty; unset it, or give a value"}},
		{"empty variable of a database", "[database]\nurl = \"postgres://h/d\"\n", []string{"JUDGED_DATABASE_URL="},
			[]string{"JUDGED_DATABASE_URL: empty"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(write(t, tt.file), tt.env)
			if err == nil {
				t.Fatal("no error")
			}
			rest := err.Error()
			for _, want := range tt.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("error %q lacks %q", err, want)
				}
				rest = after
			}
		})
	}
}

// TestIgnored checks which variables look like settings and are none.
func TestIgnored(t *testing.T) {
	got := Ignored([]string{"JUDGED_HTPP_TOKEN_FILE=x", "JUDGED_HTTP_TOKEN_FILE=x", "JUDGED_URL=x", "JUDGED_TOKEN=x",
		"JUDGED_TEST_REQUIRE=x", "JUDGED_DATADIR=x", "PATH=x", "=x"})
	if diff := cmp.Diff([]string{"JUDGED_HTPP_TOKEN_FILE", "JUDGED_DATADIR"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadAbsentFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "absent.toml"), nil)
	if err == nil || !strings.Contains(err.Error(), "absent.toml") {
		t.Errorf("error %v does not name the file", err)
	}
}

func TestValidateNamesTheKey(t *testing.T) {
	tests := map[string]func(*Config){
		"data_dir":            func(c *Config) { c.DataDir = "" },
		"http.listen":         func(c *Config) { c.HTTP.Listen = "8080" },
		"http.max_body":       func(c *Config) { c.HTTP.MaxBody = 0 },
		"http.max_blob":       func(c *Config) { c.HTTP.MaxBlob = -1 },
		"http.shutdown_grace": func(c *Config) { c.HTTP.ShutdownGrace = -1 },
		"judge0.enabled": func(c *Config) {
			c.Judge0.Enabled, c.Fleet.Role, c.Fleet.Front = true, RoleJudge, "http://127.0.0.1"
		},
		"judge0.listen":  func(c *Config) { c.Judge0 = Judge0{Enabled: true, Listen: "2358"} },
		"judge0.listen:": func(c *Config) { c.Judge0.Listen = "127.0.0.1:2358" },
		"judgehost.url": func(c *Config) {
			c.Fleet.Role, c.Judgehost = RoleJudge, Judgehost{URL: "ftp://domjudge.example", CredentialsFile: "x"}
		},
		"judgehost.url:": func(c *Config) {
			c.Fleet.Role, c.Judgehost = RoleJudge, Judgehost{URL: "http://u:p@domjudge.example", CredentialsFile: "x"}
		},
		"judgehost.url: only": func(c *Config) {
			c.Judgehost = Judgehost{URL: "http://domjudge.example", CredentialsFile: "x"}
		},
		"judgehost.url: a judge": func(c *Config) {
			c.Fleet.Role, c.Fleet.Front = RoleJudge, "http://127.0.0.1"
			c.Judgehost = Judgehost{URL: "http://domjudge.example", CredentialsFile: "x"}
		},
		"judgehost.credentials_file": func(c *Config) {
			c.Fleet.Role, c.Judgehost = RoleJudge, Judgehost{URL: "http://domjudge.example"}
		},
		"database.url":            func(c *Config) { c.Database.URL = "http://x" },
		"blobs.url":               func(c *Config) { c.Blobs.URL = "s3://key:secret@b" },
		"blobs.url:":              func(c *Config) { c.Blobs.URL = "/mnt" },
		"slots.width":             func(c *Config) { c.Slots.CPUList, c.Slots.Width = cpuset.New(3), 2 },
		"slots.pool":              func(c *Config) { c.Slots.Pool = "a.b" },
		"slots.class":             func(c *Config) { c.Slots.Class = "a b" },
		"sandbox.root":            func(c *Config) { c.Sandbox.Root = "none" },
		"sandbox.work_size":       func(c *Config) { c.Sandbox.WorkSize = 0 },
		"sandbox.work_inodes":     func(c *Config) { c.Sandbox.WorkInodes = 0 },
		"sandbox.uid_first":       func(c *Config) { c.Sandbox.UIDFirst = 0 },
		"sandbox.uid_count":       func(c *Config) { c.Sandbox.UIDFirst = 1<<31 - 10 },
		"limits.max.cpu_time":     func(c *Config) { c.Limits.Max.CPUTime = 0; c.Limits.Default.CPUTime = 0 },
		"limits.max.wall_time":    func(c *Config) { c.Limits.Max.WallTime = time.Second },
		"limits.max.memory":       func(c *Config) { c.Limits.Max.Memory = 0 },
		"limits.max.tests":        func(c *Config) { c.Limits.Max.Tests = 0 },
		"limits.max.repeats":      func(c *Config) { c.Limits.Max.Repeats = 0 },
		"limits.default.cpu_time": func(c *Config) { c.Limits.Default.CPUTime = time.Hour },
		"limits.default:":         func(c *Config) { c.Limits.Default.CPUTime = 1500 * time.Microsecond },
		"limits.default.wall_time": func(c *Config) {
			c.Limits.Default.CPUTime, c.Limits.Default.WallTime = 2*time.Second, time.Second
		},
		"limits.default.memory": func(c *Config) { c.Limits.Default.Memory = 0 },
		"limits.default.stack":  func(c *Config) { c.Limits.Default.Stack = -1 },
		"repeats.policy":        func(c *Config) { c.Repeats.Policy = "best" },
		"queue.max_waiting":     func(c *Config) { c.Queue.MaxWaiting = 0 },
		"queue.max_deliver":     func(c *Config) { c.Queue.MaxDeliver = 0 },
		"callbacks.allow":       func(c *Config) { c.Callbacks.Allow = []string{"10.0.0.0/8", "10.0.0.0/33"} },
		"retention.max_age":     func(c *Config) { c.Retention.MaxAge = 0 },
		"audit.percent":         func(c *Config) { c.Audit.Percent = 101 },
		"audit.interval":        func(c *Config) { c.Audit.Interval = time.Millisecond },
		"audit.shadow":          func(c *Config) { c.Audit.Shadow = -time.Second },
		"canary.interval":       func(c *Config) { c.Canary.Interval = time.Millisecond },
		"tune.journal":          func(c *Config) { c.Tune.Journal = "tune.json" },
		"retention.max_jobs":    func(c *Config) { c.Retention.MaxJobs = -1 },
		"log.level":             func(c *Config) { c.Log.Level = "loud" },
		"log.format":            func(c *Config) { c.Log.Format = "xml" },
	}
	for key, spoil := range tests {
		t.Run(key, func(t *testing.T) {
			c := Default()
			spoil(&c)
			err := c.Validate()
			if err == nil || !strings.HasPrefix(err.Error(), key) {
				t.Errorf("error %v does not begin with %s", err, key)
			}
			if err != nil && !strings.Contains(err.Error(), "; ") {
				t.Errorf("error %v names no next step", err)
			}
		})
	}
}

func TestLogShowsNoSecret(t *testing.T) {
	for _, url := range []string{
		"postgres://user:hunter2@h:5432/judged", "postgres://hunter2@h/judged", "postgres://u:hunter2@a:1,b:2/judged",
		"postgres://h/judged?password=hunter2",
	} {
		c := Default()
		c.Database.URL = url
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		log.Info("start", "config", c, "database", c.Database)
		if strings.Contains(out.String(), "hunter2") {
			t.Errorf("%s is logged as %s", url, out.String())
		}
		if !strings.Contains(out.String(), "config.retention.max_age=720h") {
			t.Errorf("log %s lacks the retention", out.String())
		}
	}
}

func TestLoopback(t *testing.T) {
	tests := map[string]bool{
		"127.0.0.1:80": true, "127.1.2.3:80": true, "[::1]:80": true, "localhost:80": true,
		"0.0.0.0:80": false, ":80": false, "[::]:80": false, "example.org:80": false, "10.0.0.1:80": false, "": false,
	}
	for listen, want := range tests {
		if got := (HTTP{Listen: listen}).Loopback(); got != want {
			t.Errorf("Loopback of %q = %v, want %v", listen, got, want)
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "judged.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMaxJobs(t *testing.T) {
	for _, tt := range []struct {
		url        string
		jobs, want int
	}{
		{"", 0, 100_000},
		{"", 7, 7},
		{"postgres://db/judged", 0, 0},
		{"postgres://db/judged", 7, 7},
	} {
		c := Default()
		c.Database.URL, c.Retention.MaxJobs = tt.url, tt.jobs
		if got := c.MaxJobs(); got != tt.want {
			t.Errorf("max_jobs = %d with database.url = %q: %d, want %d", tt.jobs, tt.url, got, tt.want)
		}
	}
}
