package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPools(t *testing.T) {
	c, err := Load(write(t, `
[audit]
percent = 3
[[pools]]
name = "metal"
contest_percent = 25
[[pools]]
audit_percent = 0
name = "cloud"
decided_by = "iron"
[[pools]]
name = "iron"
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"default", "metal", "cloud", "iron"}, c.PoolNames()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for name, percent := range map[string]int{"default": 3, "metal": 3, "cloud": 0} {
		if got := c.Pool(name); got.Name != name || got.AuditPercent != percent {
			t.Errorf("pool %s: %+v, want %d %%", name, got, percent)
		}
	}
	for name, decider := range map[string]string{"default": "default", "metal": "metal", "cloud": "iron"} {
		if got := c.Decider(name); got != decider {
			t.Errorf("pool %s is decided by %s, want %s", name, got, decider)
		}
	}
	if got := c.ContestPercents(); got["metal"] != 25 || len(got) != 1 {
		t.Errorf("parts for contests: %v, want 25 %% of metal", got)
	}
	without := c
	c.Pools = c.Pools[:2]
	without.Pools = c.Pools[:1]
	if diff := cmp.Diff([]string{"pools[1].audit_percent", "pools[1].check_percent",
		"pools[1].contest_percent", "pools[1].decided_by", "pools[1].name"},
		Differences(without, c)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

// TestNoTables checks that an empty list, as templates write it, is that of a file without the key.
func TestNoTables(t *testing.T) {
	c, err := Load(write(t, "pools = []\ntenants = []\n[log]\nlevel = \"warn\"\n"), nil)
	if err != nil || len(c.Pools)+len(c.Tenants) > 0 || c.Log.Level != "warn" {
		t.Errorf("%+v %+v, level %s, %v", c.Pools, c.Tenants, c.Log.Level, err)
	}
}

func TestPoolErrors(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"key of a second pool": {"[[pools]]\nname = \"a\"\n[[pools]]\nname = \"b\"\nweight = 1\n",
			":5: pools[1].weight: unknown key; use one of audit_percent"},
		"misspelled": {"[[tenant]]\nname = \"a\"\n", "queue, repeats, retention, sandbox, slots, tenants, tune"},
		"value":      {"[[pools]]\nname = 1\n", ":2: pools[0].name: 1 does not fit; write text"},
		"a table":    {"[pools]\nname = \"a\"\n", ":2: pools.name: unknown key"},
		"texts":      {"pools = [\"a\"]\n", ":1: pools: unknown key"},
		"name":       {"[[pools]]\nname = \"a.b\"\n", `pools[0].name: "a.b" is not a name; use`},
		"no name":    {"[[pools]]\n[[pools]]\nname=\"a\"\n", `pools[0].name: "" is not a name; use`},
		"twice": {"[[pools]]\nname=\"a\"\n[[pools]]\nname=\"a\"\n",
			`pools[1].name: "a" is another pool already; list`},
		"decided by itself": {"[[pools]]\nname=\"a\"\ndecided_by=\"a\"\n",
			`pools[0].decided_by: "a" does not decide itself; `},
		"decided by a screening pool": {"[[pools]]\nname=\"a\"\ndecided_by=\"b\"\n[[pools]]\n" +
			"name=\"b\"\ndecided_by=\"c\"\n",
			`pools[0].decided_by: "b" does not decide itself; `},
		"decided by a pool that is not there": {"[[pools]]\nname=\"a\"\ndecided_by=\"zz\"\n",
			`pools[0].decided_by: "zz" is not a pool; use one of default, a, or add it to [[pools]]`},
		"decided by nobody": {"[[pools]]\nname=\"a\"\ndecided_by=\"b c\"\n",
			`pools[0].decided_by: "b c" is not a name; `},
		"checks": {"[[pools]]\nname=\"a\"\ndecided_by=\"b\"\ncheck_percent = 0\n",
			"pools[0].check_percent: 0 is out of range; use"},
		"contests": {"[[pools]]\nname=\"a\"\ncontest_percent=101\n",
			"pools[0].contest_percent: 101 is out of range; use"},
		"percent": {"[[pools]]\nname=\"a\"\naudit_percent = 101\n",
			"pools[0].audit_percent: 101 is out of range; use"},
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
