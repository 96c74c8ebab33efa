package callback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"judged/internal/base/config"
)

// errForbidden means that an address may not be reached.
var errForbidden = errors.New("is not public and not in callbacks.allow")

// Policy defines which addresses callbacks may reach: public ones, and those that the operator lists.
type Policy struct {
	networks []netip.Prefix
	hosts    []string
}

// NewPolicy returns the policy of a configuration.
func NewPolicy(c config.Callbacks) (Policy, error) {
	networks, hosts, err := c.Allowed()
	return Policy{networks, hosts}, err
}

// special lists the networks of IANA's registries of special-purpose addresses that package netip does not know. IPv6
// addresses outside of 2000::/3 are not public, except for those of NAT64.
var special = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

var (
	publicIPv6 = netip.MustParsePrefix("2000::/3")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// plain returns the IPv4 address that is embedded in an IPv6 address, or the address itself.
func plain(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		bytes := a.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return a
}

// permits returns an error for an address that may not be reached. host is the name that resolved to it.
func (p Policy) permits(host string, a netip.Addr) error {
	a = plain(a)
	switch {
	case slices.Contains(p.hosts, strings.ToLower(strings.TrimSuffix(host, "."))), contains(p.networks, a):
		return nil
	case !a.IsValid(), a.IsPrivate(), !a.IsGlobalUnicast(), contains(special, a), a.Is6() && !publicIPv6.Contains(a):
		return fmt.Errorf("address %s %w", a, errForbidden)
	}
	return nil
}

func contains(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}

// literal returns an error if a host in a URL is an address that may not be reached.
func (p Policy) literal(host string) error {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return nil // a host name; dial checks its addresses
	}
	return p.permits(host, a)
}

// dial connects to a host. It checks each address that the host resolves to at the time of the connection.
func (p Policy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{KeepAlive: 15 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("address %q %w", address, errForbidden)
		}
		return p.permits(host, a.Addr())
	}}
	return d.DialContext(ctx, network, address)
}
