package httpapi

import (
	"net"
	"sync"
)

// Connections is the limit of open connections: enough for the long polls and
// event streams of a large contest. Each costs about 20 KiB and a descriptor, and
// runs need descriptors too.
const Connections = 8192

// Limit returns a listener with at most n open connections. Further callers wait in
// the kernel's queue until one is closed. The deadlines of HTTPServer close silent
// connections.
func Limit(l *net.TCPListener, n int) net.Listener {
	return &limited{TCPListener: l, room: make(chan struct{}, n), closed: make(chan struct{})}
}

type limited struct {
	*net.TCPListener
	room   chan struct{} // holds one element for each open connection
	once   sync.Once
	closed chan struct{}
}

// Accept waits until fewer than n connections are open, then for the next one.
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

// Close also ends a waiting Accept.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.TCPListener.Close()
}

// counted is a connection that counts against the limit until it is closed. It
// embeds TCPConn because net/http uses methods that net.Conn lacks to send files
// and to half-close.
type counted struct {
	*net.TCPConn
	leave func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.leave()
	return c.TCPConn.Close()
}
