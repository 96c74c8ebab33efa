package config

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAllowed(t *testing.T) {
	c := Default()
	if err := c.overlayEnv([]string{"JUDGED_CALLBACKS_ALLOW=10.1.2.3/8, ::1,Host.Example,a_b,127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	networks, hosts, err := c.Callbacks.Allowed()
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("127.0.0.1/32")}
	if diff := cmp.Diff(want, networks, cmpopts.EquateComparable(netip.Prefix{})); diff != "" || err != nil {
		t.Errorf("networks: %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"host.example", "a_b"}, hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "10.0.0", "10.0.0.0/33", "fe80::1%eth0", "http://a", "a:80", "*.example.org"} {
		if _, _, err := (Callbacks{Allow: []string{bad}}).Allowed(); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
