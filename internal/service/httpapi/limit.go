package httpapi

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Connections is the limit of open connections: enough for the long polls and
// event streams of a large contest. Each costs about 20 KiB and a descriptor, and
// runs need descriptors too.
const Connections = 8192

// Clients at one address whose connections were never authorized ("strangers") may use an eighth of the connections,
// and in a burst half of them: each connection has strangerGrace to be authorized.
const (
	strangersShare = 8
	burstShare     = 2
	strangerGrace  = time.Second
)

// strangerIdle is how long a stranger's connection may stay open between two requests. Clients and proxies that close
// idle connections after 90 s or less, such as Go's client and nginx, never lose a request. The Keep-Alive header has
// strangerTold.
const (
	strangerIdle = strangerTold + 10*time.Second
	strangerTold = 90 * time.Second
)

// Limit makes a server keep at most n connections open, and returns the listener to serve. Package netutil can only
// make further callers wait, so silent connections would keep everyone else out.
//
// The caller of a connection is unknown until a request on it has been authorized. Strangers at one address have a
// share of the n connections, and an idle one is closed after strangerIdle. To make room for a new connection, another
// one is closed: the stranger that has been idle for longest, otherwise a stranger with a request, otherwise the caller
// that has been idle for longest. If all have authorized requests, new callers wait until one ends.
func Limit(server *http.Server, l *net.TCPListener, n int) net.Listener {
	c := &crowd{most: n, idle: strangerIdle, grace: strangerGrace, open: map[*member]bool{},
		strangers: map[netip.Prefix]int{}, room: make(chan struct{}, 1)}
	server.ConnState = c.note
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, memberKey{}, memberOf(conn))
	}
	return &limited{TCPListener: l, crowd: c, closed: make(chan struct{})}
}

// crowd is the set of open connections of a server.
type crowd struct {
	most        int
	idle, grace time.Duration
	room        chan struct{} // holds a token after a connection was closed or became idle

	mu        sync.Mutex // guards the fields below, and the members
	open      map[*member]bool
	strangers map[netip.Prefix]int // of open, by address
}

// member is a connection in a crowd. It embeds TCPConn because net/http uses methods that net.Conn lacks to send files
// and to half-close.
type member struct {
	*net.TCPConn
	crowd *crowd
	from  netip.Prefix
	leave func()

	known bool      // a request has been authorized
	busy  bool      // a request is in progress
	since time.Time // when busy changed
	alarm *time.Timer
}

// Close implements net.Conn.
func (m *member) Close() error {
	defer m.leave()
	return m.TCPConn.Close()
}

type memberKey struct{}

// memberOf returns the member that a connection of net/http wraps, or nil.
func memberOf(conn net.Conn) *member {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	m, _ := conn.(*member)
	return m
}

// authorized records that the caller of a request is known.
func authorized(ctx context.Context) {
	if m, _ := ctx.Value(memberKey{}).(*member); m != nil {
		m.crowd.know(m)
	}
}

func (c *crowd) know(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !m.known && c.open[m] {
		m.known = true
		c.forget(m.from)
	}
}

// forget decrements the number of strangers of an address. The caller must hold mu.
func (c *crowd) forget(from netip.Prefix) {
	if c.strangers[from]--; c.strangers[from] == 0 {
		delete(c.strangers, from)
	}
}

// note implements the ConnState hook of http.Server.
func (c *crowd) note(conn net.Conn, state http.ConnState) {
	m := memberOf(conn)
	if m == nil || state != http.StateActive && state != http.StateIdle {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m.busy, m.since = state == http.StateActive, time.Now()
	if m.alarm != nil {
		m.alarm.Stop()
		m.alarm = nil
	}
	if m.busy {
		return
	}
	wakeUp(c.room)
	if !m.known {
		since := m.since
		m.alarm = time.AfterFunc(c.idle, func() {
			c.mu.Lock()
			still := !m.busy && m.since.Equal(since)
			c.mu.Unlock()
			if still {
				_ = m.Close()
			}
		})
	}
}

func wakeUp(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// enter adds a connection. It returns false if there is no room, and otherwise the member to close for it, if any.
func (c *crowd) enter(m *member) (entered bool, instead *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.strangers[m.from]; n >= max(c.most/strangersShare, 1) {
		begun := m.since.Add(-c.grace)
		instead = c.longest(func(x *member) bool {
			return !x.known && x.from == m.from && (n >= max(c.most/burstShare, 1) || !x.since.After(begun))
		})
	}
	if instead == nil && len(c.open) >= c.most {
		if instead = c.longest(func(x *member) bool { return !x.known || !x.busy }); instead == nil {
			return false, nil
		}
	}
	if instead != nil {
		c.remove(instead)
	}
	c.open[m] = true
	c.strangers[m.from]++
	return true, instead
}

// longest returns the member to close among those that may allows. The caller must hold mu.
func (c *crowd) longest(may func(*member) bool) (found *member) {
	rank := func(m *member) int {
		switch {
		case !m.known && !m.busy:
			return 0
		case !m.known:
			return 1
		}
		return 2
	}
	for m := range c.open {
		if may(m) && (found == nil || rank(m) < rank(found) || rank(m) == rank(found) && m.since.Before(found.since)) {
			found = m
		}
	}
	return found
}

// remove removes a closed member. The caller must hold mu.
func (c *crowd) remove(m *member) {
	if !c.open[m] {
		return
	}
	delete(c.open, m)
	if !m.known {
		c.forget(m.from)
	}
	if m.alarm != nil {
		m.alarm.Stop()
	}
	wakeUp(c.room)
}

func (c *crowd) newMember(conn *net.TCPConn) *member {
	m := &member{TCPConn: conn, crowd: c, from: addressOf(conn.RemoteAddr()), since: time.Now()}
	m.leave = sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.remove(m)
	})
	return m
}

// addressOf returns what counts as one address: for IPv6 the network, in which a host can use any number of addresses.
func addressOf(remote net.Addr) netip.Prefix {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	network, _ := ip.WithZone("").Prefix(bits) // an error only for invalid addresses, which then count as one
	return network
}

type limited struct {
	*net.TCPListener
	crowd  *crowd
	once   sync.Once
	closed chan struct{}
}

// Accept returns the next connection once there is room for it.
func (l *limited) Accept() (net.Conn, error) {
	conn, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	m := l.crowd.newMember(conn)
	for {
		entered, instead := l.crowd.enter(m)
		if instead != nil {
			_ = instead.Close()
		}
		if entered {
			return m, nil
		}
		select {
		case <-l.crowd.room:
		case <-l.closed:
			_ = conn.Close()
			return nil, net.ErrClosed
		}
	}
}

// Close also ends a waiting Accept.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.TCPListener.Close()
}
