package config

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShared(t *testing.T) {
	// Settings of one process or its host, which may differ between fronts.
	own := map[string]func(*Config){
		"data_dir":        func(c *Config) { c.DataDir = "/elsewhere" },
		"http.listen":     func(c *Config) { c.HTTP.Listen = "127.0.0.1:1" },
		"http.token_file": func(c *Config) { c.HTTP.TokenFile = "/tokens" },
		"sandbox.root":    func(c *Config) { c.Sandbox.Root = "host" },
		"log.level":       func(c *Config) { c.Log.Level = "debug" },
	}
	alike := map[string]func(*Config){
		"limits.default.cpu_time": func(c *Config) { c.Limits.Default.CPUTime++ },
		"limits.max.cpu_time":     func(c *Config) { c.Limits.Max.CPUTime++ },
		"repeats.policy":          func(c *Config) { c.Repeats.Policy = "single" },
		"queue.max_waiting":       func(c *Config) { c.Queue.MaxWaiting++ },
		"retention.max_age":       func(c *Config) { c.Retention.MaxAge++ },
		"blobs.url":               func(c *Config) { c.Blobs.URL = "file:///other" },
		"audit.percent":           func(c *Config) { c.Audit.Percent++ },
		"http.max_blob":           func(c *Config) { c.HTTP.MaxBlob++ },
		"slots.pool":              func(c *Config) { c.Slots.Pool = "other" },
		"slots.width":             func(c *Config) { c.Slots.Width++ },
		"sandbox.work_size":       func(c *Config) { c.Sandbox.WorkSize++ },
		"sandbox.work_inodes":     func(c *Config) { c.Sandbox.WorkInodes++ },
		"pools[0].decided_by":     func(c *Config) { c.Pools[0].DecidedBy = "other" },
		"tenants[0].weight":       func(c *Config) { c.Tenants[0].Weight++ },
	}
	base := func() Config {
		c := Default()
		c.Pools = []Pool{{Name: "cloud", DecidedBy: "metal"}}
		c.Tenants = []Tenant{{Name: "school", Weight: 1}}
		return c
	}
	for key, change := range own {
		c := base()
		change(&c)
		if diff := cmp.Diff(base().Shared(), c.Shared()); diff != "" {
			t.Errorf("%s is of one front (-want +got):\n%s", key, diff)
		}
	}
	for key, change := range alike {
		c := base()
		change(&c)
		got, want := c.Shared(), base().Shared()
		maps.DeleteFunc(got, func(k, digest string) bool { return want[k] == digest })
		if diff := cmp.Diff([]string{key}, slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("changed %s (-want +got):\n%s", key, diff)
		}
	}
}
