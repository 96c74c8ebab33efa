package config

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
)

// TestReloaded changes every key and holds which of them take effect at once.
func TestReloaded(t *testing.T) {
	now, next := Default(), Default()
	now.HTTP.TokenFile = "old"
	for _, k := range keys(&next) {
		switch p := k.field.Addr().Interface().(type) {
		case *bool:
			*p = !*p
		case *cpuset.Set:
			*p = cpuset.New(5)
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
		"limits.max.head", "limits.max.processes", "limits.max.tests", "limits.max.files", "limits.max.repeats",
		"repeats.policy",
		"queue.max_waiting", "log.level"}
	if diff := cmp.Diff(want, Differences(now, then)); diff != "" {
		t.Errorf("what takes effect (-want +got):\n%s", diff)
	}
	left := len(keys(&now)) - len(want)
	if got := Differences(then, next); len(got) != left {
		t.Errorf("%d keys are left, want %d: %q", len(got), left, got)
	}
}

// TestReloadKeepsTokens: whether tokens are asked for does not change.
func TestReloadKeepsTokens(t *testing.T) {
	with, without := Default(), Default()
	with.HTTP.TokenFile = "tokens"
	if got := with.Reloaded(without).HTTP.TokenFile; got != "tokens" {
		t.Errorf("token file %q, want that from before", got)
	}
	if got := without.Reloaded(with).HTTP.TokenFile; got != "" {
		t.Errorf("token file %q, want none", got)
	}
}
