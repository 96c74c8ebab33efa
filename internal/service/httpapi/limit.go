package httpapi

import (
	"net"
	"sync"
)

// Connections is how many connections Limit is to leave open: long polls and
// readers of events of a large contest. Each costs about 20 KiB and a
// descriptor, which runs need too.
const Connections = 8192

// Limit is a listener that leaves at most n of its connections open. Callers
// beyond that wait in the kernel's queue until one is closed; nobody can hold
// one by silence for longer than the deadlines of HTTPServer.
func Limit(l *net.TCPListener, n int) net.Listener {
	return &limited{TCPListener: l, room: make(chan struct{}, n), closed: make(chan struct{})}
}

type limited struct {
	*net.TCPListener
	room   chan struct{} // holds one element for each open connection
	once   sync.Once
	closed chan struct{}
}

// Accept waits for room, then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.AcceptTCP()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &counted{TCPConn: c, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close ends a wait for room too.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.TCPListener.Close()
}

// counted gives its place back when it is closed, once. It is a TCPConn in all
// else: net/http sends files and half-closes with more than a net.Conn has.
type counted struct {
	*net.TCPConn
	leave func()
}

// Close closes and makes room.
func (c *counted) Close() error {
	defer c.leave()
	return c.TCPConn.Close()
}
