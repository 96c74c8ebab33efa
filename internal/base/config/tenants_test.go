package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTenants(t *testing.T) {
	c, err := Load(write(t, `
[[tenants]]
name = "a"
[[tenants]]
weight = 3
name = "b"
max_waiting = 10
blobs_per_day = "1GiB"
cpu_time_per_day = "2h"
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]Tenant{{Name: "a", Weight: 1}, {Name: "b", Weight: 3, MaxWaiting: 10,
		BlobsPerDay: 1 << 30, CPUTimePerDay: 2 * time.Hour}}, c.Tenants); diff != "" {
		t.Errorf("tenants (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.Tenants, Default().Reloaded(c).Tenants); diff != "" {
		t.Errorf("after a reload (-want +got):\n%s", diff)
	}
}

func TestTenantErrors(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"unknown key": {"[[tenants]]\nname = \"a\"\nwieght = 1\n", ":3: tenants[0].wieght: unknown key; use one of "},
		"a table":     {"[tenants]\na = 1\n", ":2: tenants.a: unknown key"},
		"name":        {"[[tenants]]\nname = \"a.b\"\n", `tenants[0].name: "a.b" is not a name; use`},
		"no name":     {"[[tenants]]\n[[tenants]]\nname=\"a\"\n", `tenants[0].name: "" is not a name; use`},
		"twice": {"[[tenants]]\nname=\"a\"\n[[tenants]]\nname=\"a\"\n",
			`tenants[1].name: "a" is another tenant already; list`},
		"waiting": {"[[tenants]]\nname=\"a\"\nmax_waiting = -1\n", "tenants[0].max_waiting: -1 is out of range; use 0 to"},
		"blobs":   {"[[tenants]]\nname=\"a\"\nblobs_per_day = \"2PiB\"\n", "tenants[0].blobs_per_day: "},
		"time": {"[[tenants]]\nname=\"a\"\ncpu_time_per_day = \"-1s\"\n",
			"tenants[0].cpu_time_per_day: -1s is out of range"},
		"weight": {"[[tenants]]\nname=\"a\"\nweight = 0\n", "tenants[0].weight: 0 is out of range; use 1 to 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Load(write(t, test.file), nil)
			if err == nil {
				err = c.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
