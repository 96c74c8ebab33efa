package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
)

// TestUnused: settings without an effect in the role of the daemon are named, so that none is ignored without a word.
func TestUnused(t *testing.T) {
	host := func(c *Config) {
		c.Slots.CPUList, c.Slots.Strict, c.Sandbox.Root, c.Tune.Apply = cpuset.New(2), true, "host", true
		c.Limits.Jury.Processes++
	}
	front := func(c *Config) {
		c.Limits.Max.Tests, c.Repeats.Policy, c.Queue.MaxWaiting, c.Audit.Percent = 5, "single", 5, 5
		c.Callbacks.SecretFile, c.Tenants, c.Pools = "s", []Tenant{{Name: "school"}}, []Pool{{Name: "metal"}}
	}
	node := func(c *Config) { c.Fleet.TokenFile, c.Fleet.CAFile = "token", "ca" }
	all := func(c *Config) {
		c.DataDir, c.HTTP.TokenFile, c.Slots.Pool, c.Slots.Width, c.Fleet.Node = "d", "t", "p", 2, "n"
		c.Languages.File, c.Retention.MaxAge, c.Log.Level, c.Sandbox.WorkSize = "l", 1, "debug", 1
	}
	for _, tt := range []struct {
		name   string
		role   string
		change []func(*Config)
		want   []string
	}{
		{"one host", RoleAll, []func(*Config){host, front, all}, nil},
		{"one host with the settings of a judge", RoleAll, []func(*Config){node}, []string{"fleet.node_token_file",
			"fleet.ca_file"}},
		{"front", RoleFront, []func(*Config){front, all}, nil},
		{"front with the settings of a judge", RoleFront, []func(*Config){host, node}, []string{"fleet.node_token_file",
			"fleet.ca_file", "slots.cpu_list", "slots.strict", "sandbox.root", "limits.jury.processes", "tune.apply"}},
		{"judge", RoleJudge, []func(*Config){host, node, all}, nil},
		{"judge with the settings of a front", RoleJudge, []func(*Config){front}, []string{"limits.max.tests",
			"repeats.policy", "queue.max_waiting", "callbacks.secret_file", "audit.percent", "pools", "tenants"}},
	} {
		c := Default()
		for _, change := range tt.change {
			change(&c)
		}
		c.Fleet.Role = tt.role
		if diff := cmp.Diff(tt.want, c.Unused()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
