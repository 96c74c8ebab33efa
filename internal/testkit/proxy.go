package testkit

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy forwards each connection to the next reachable server. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	servers  []string
	tasks    sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	next   int
	delay  time.Duration
	faults []*fault
	conns  map[net.Conn]bool
}

// fault describes the failure of one request.
type fault struct {
	matches func(request string) bool
	bytes   int // bytes of the answer that are forwarded before the connection is cut
	done    chan struct{}
}

// OpenProxy starts a proxy for servers, which are addresses HOST:PORT.
func OpenProxy(servers ...string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, servers: servers, conns: map[net.Conn]bool{}}
	p.tasks.Go(p.accept)
	return p, nil
}

// Close closes the proxy and its connections.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Cut()
	p.tasks.Wait()
}

// StartProxy starts a proxy that is closed when the test ends.
func StartProxy(t testing.TB, servers ...string) *Proxy {
	t.Helper()
	p, err := OpenProxy(servers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// URL returns the URL of the proxy.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Delay delays all data by d in each direction.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// Lose forwards the next matching request to the server, forwards the given number of bytes of its answer, cuts
// both connections, and then closes the channel. Small requests arrive in one piece.
func (p *Proxy) Lose(bytes int, matches func(request string) bool) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &fault{matches: matches, bytes: bytes, done: make(chan struct{})}
	p.faults = append(p.faults, f)
	return f.done
}

// faultOf removes and returns the fault of a request, or nil.
func (p *Proxy) faultOf(data []byte) *fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.faults {
		if f.matches(string(data)) {
			p.faults = append(p.faults[:i], p.faults[i+1:]...)
			return f
		}
	}
	return nil
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.tasks.Go(func() { p.forward(client) })
	}
}

// dial connects to the next reachable server.
func (p *Proxy) dial() (server net.Conn, err error) {
	for range p.servers {
		p.mu.Lock()
		address := p.servers[p.next%len(p.servers)]
		p.next++
		p.mu.Unlock()
		if server, err = net.Dial("tcp", address); err == nil {
			return server, nil
		}
	}
	return nil, errors.Join(err, errors.New("no server can be reached"))
}

// forward serves one connection. Its requests are sequential, so the answer to a request with a fault is the
// next data from the server.
func (p *Proxy) forward(client net.Conn) {
	defer client.Close()
	server, err := p.dial()
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, client)
		delete(p.conns, server)
	}()
	faults := make(chan *fault, 1)
	var copies sync.WaitGroup
	copies.Go(func() {
		defer server.Close()
		p.copy(server, client, func(data []byte) (int, *fault) {
			if f := p.faultOf(data); f != nil {
				faults <- f
			}
			return len(data), nil
		})
	})
	var current *fault
	sent := 0
	p.copy(client, server, func(data []byte) (int, *fault) {
		select {
		case current = <-faults:
		default:
		}
		if current == nil {
			return len(data), nil
		}
		n := min(len(data), current.bytes-sent)
		sent += n
		if sent < current.bytes {
			return n, nil
		}
		return n, current
	})
	client.Close()
	server.Close()
	copies.Wait()
	if current != nil {
		close(current.done)
	}
}

// copy forwards data until the end, an error or a fault. look returns how much of the data to forward, and the
// fault.
func (p *Proxy) copy(to io.Writer, from io.Reader, look func([]byte) (int, *fault)) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			p.mu.Lock()
			delay := p.delay
			p.mu.Unlock()
			time.Sleep(delay)
			forwarded, f := look(buffer[:n])
			if _, failed := to.Write(buffer[:forwarded]); failed != nil || f != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
