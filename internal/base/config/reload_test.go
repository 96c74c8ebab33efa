package config

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
)

// TestReloaded changes each key and checks whether it takes effect at once.
func TestReloaded(t *testing.T) {
	now, next := Default(), Default()
	now.HTTP.TokenFile = "old"
	for _, k := range keys(&next) {
		switch p := k.field.Addr().Interface().(type) {
		case *bool:
			*p = !*p
		case *cpuset.Set:
			*p = cpuset.New(5)
		case *[]string:
			*p = []string{"a", "b"}
		default:
			if k.field.Kind() == reflect.String {
				k.field.SetString(k.field.String() + "x")
				continue
			}
			k.field.SetInt(k.field.Int() + int64(time.Second))
		}
	}
	if all, n := Differences(now, next), len(keys(&now)); len(all) != n {
		t.Fatalf("%d of %d keys differ: %q", len(all), n, all)
	}
	then := now.Reloaded(next)
	want := []string{"http.token_file", "limits.default.cpu_time", "limits.default.wall_time", "limits.default.memory",
		"limits.default.output",
		"limits.default.stack", "limits.default.processes", "limits.max.cpu_time", "limits.max.wall_time",
		"limits.max.memory", "limits.max.output",
		"limits.max.head", "limits.max.keep", "limits.max.keep_job", "limits.max.processes", "limits.max.tests",
		"limits.max.files", "limits.max.collect", "limits.max.repeats", "repeats.policy",
		"queue.max_waiting", "retention.max_age", "retention.max_jobs",
		"callbacks.secret_file", "callbacks.allow", "log.level"}
	if diff := cmp.Diff(want, Differences(now, then)); diff != "" {
		t.Errorf("what takes effect (-want +got):\n%s", diff)
	}
	left := len(keys(&now)) - len(want)
	if got := Differences(then, next); len(got) != left {
		t.Errorf("%d keys are left, want %d: %q", len(got), left, got)
	}
}

// TestReloadedFiles: paths of secrets and certificates can change, but HTTPS cannot be switched on or off.
func TestReloadedFiles(t *testing.T) {
	now := Default()
	now.HTTP.CertFile, now.HTTP.KeyFile, now.Fleet.Role = "c", "k", RoleJudge
	next := now
	next.HTTP.CertFile, next.HTTP.KeyFile, next.Fleet.TokenFile, next.Fleet.CAFile = "c2", "k2", "t2", "a2"
	if left := Differences(now.Reloaded(next), next); len(left) > 0 {
		t.Errorf("%q take no effect", left)
	}
	front := next
	next.Judgehost = Judgehost{URL: "https://domjudge.example", CredentialsFile: "j"}
	if got := Differences(front.Reloaded(next), next); len(got) != 2 {
		t.Errorf("%q take no effect, want all of judgehost", got)
	}
	moved := next
	moved.Judgehost.CredentialsFile = "j2"
	if left := Differences(next.Reloaded(moved), moved); len(left) > 0 || next.Reloaded(front).Judgehost != next.Judgehost {
		t.Errorf("%q take no effect; or [judgehost] is removed without a restart", left)
	}
	without := next
	without.HTTP.CertFile, without.HTTP.KeyFile = "", ""
	if got := next.Reloaded(without).HTTP.CertFile; got != "c2" {
		t.Errorf("certificate %q, want that from before", got)
	}
	if got := without.Reloaded(next).HTTP.CertFile; got != "" {
		t.Errorf("certificate %q, want none", got)
	}
}

// TestUnprotected: stricter settings that need a restart are reported.
func TestUnprotected(t *testing.T) {
	open, closed := Default(), Default()
	open.HTTP.Listen, closed.HTTP.CertFile = "0.0.0.0:1", "c"
	if diff := cmp.Diff([]string{"http.cert_file", "http.listen"}, open.Unprotected(closed)); diff != "" {
		t.Errorf("protection that is missing (-want +got):\n%s", diff)
	}
	if got := closed.Unprotected(open); got != nil {
		t.Errorf("missing where less protects: %q", got)
	}
}

// TestReloadAddsTokens: a reload can start requiring tokens but cannot stop requiring them.
func TestReloadAddsTokens(t *testing.T) {
	with, without := Default(), Default()
	with.HTTP.TokenFile = "tokens"
	if got := with.Reloaded(without).HTTP.TokenFile; got != "tokens" {
		t.Errorf("token file %q, want that from before", got)
	}
	if got := without.Reloaded(with).HTTP.TokenFile; got != "tokens" {
		t.Errorf("token file %q, want the new one", got)
	}
}
