package callback

import (
	"net/netip"
	"testing"

	"judged/internal/base/config"
)

func TestPolicy(t *testing.T) {
	p, err := NewPolicy(config.Callbacks{Allow: []string{"10.1.0.0/16", "fd00::/64", "listed.example"}})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "64:ff9b::808:808": true, "::ffff:8.8.8.8": true,
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "fd00::1": true, "64:ff9b::a01:203": true,
		"10.2.0.1": false, "172.16.0.1": false, "192.168.1.1": false, "fd01::1": false,
		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "::ffff:127.0.0.1": false, "64:ff9b::7f00:1": false,
		"169.254.169.254": false, "::ffff:169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false,
		"100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false, "224.0.0.1": false, "ff02::1": false,
		"255.255.255.255": false, "240.0.0.1": false, "192.0.0.8": false, "192.0.2.1": false, "198.18.0.1": false,
		"198.51.100.1": false, "203.0.113.1": false, "::a00:1": false, "::7f00:1": false, "2002:7f00:1::": false,
		"2001::1": false, "2001:db8::1": false, "3fff::1": false, "64:ff9b:1::1": false, "4000::1": false,
	} {
		if err := p.permits("other.example", netip.MustParseAddr(address)); (err == nil) != want {
			t.Errorf("%s: %v, want permitted %t", address, err, want)
		}
	}
	for host, want := range map[string]bool{"listed.example": true, "LISTED.example.": true, "sub.listed.example": false} {
		if err := p.permits(host, netip.MustParseAddr("127.0.0.1")); (err == nil) != want {
			t.Errorf("%s: %v, want permitted %t", host, err, want)
		}
	}
}
