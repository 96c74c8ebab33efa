package checker

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
)

// source is one side of a comparison: a window that slides over a stream.
//
//	buf:  [ lookback | unread ........ | free ]
//	                 ^pos              ^end
//
// fill keeps the last bytes before pos, so that a difference can be quoted with them.
type source struct {
	name     string
	ctx      context.Context // of the check; its error is checked before each read
	r        io.Reader
	buf      []byte
	pos, end int
	base     int64 // offset of buf[0] in the stream
	err      error // of the last read; io.EOF at the end of the stream
}

// newSource reads r through a buffer; lookback bytes of it are kept for quotations.
func newSource(ctx context.Context, name string, r io.Reader, buf []byte) *source {
	return &source{name: name, ctx: ctx, r: r, buf: buf}
}

// unread returns the part of the stream in the buffer that is not consumed.
func (s *source) unread() []byte { return s.buf[s.pos:s.end] }

// offset returns the position of the next unread byte, from 0.
func (s *source) offset() int64 { return s.base + int64(s.pos) }

// advance consumes n unread bytes.
func (s *source) advance(n int) { s.pos += n }

// failure returns the read error that ended the stream, or nil at its end.
func (s *source) failure() error {
	if s.err == nil || s.err == io.EOF {
		return nil
	}
	return fmt.Errorf("read %s: %w", s.name, s.err)
}

// fill reads more bytes and reports whether there were any. It moves the window, so that earlier slices of buf become
// invalid. It returns false at the end of the stream and if the buffer is full.
func (s *source) fill() bool {
	if drop := s.pos - lookback; drop > 0 {
		copy(s.buf, s.buf[drop:s.end])
		s.pos, s.end, s.base = lookback, s.end-drop, s.base+int64(drop)
	}
	if s.end == len(s.buf) {
		return false
	}
	for idle := 0; s.err == nil; idle++ {
		if s.err = s.ctx.Err(); s.err != nil {
			return false
		}
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		s.err = err
		if n > 0 {
			return true
		}
		if idle == 100 && err == nil {
			s.err = io.ErrNoProgress
		}
	}
	return false
}

// ended reports whether the stream has no bytes left.
func (s *source) ended() bool {
	return s.pos == s.end && !s.fill()
}

// skip consumes bytes of a class and reports whether another byte follows. It returns false at the end of the stream.
func (s *source) skip(class *[256]bool) bool {
	for !s.ended() {
		rest := s.unread()
		for i, c := range rest {
			if !class[c] {
				s.advance(i)
				return true
			}
		}
		s.advance(len(rest))
	}
	return false
}

// token returns the token at pos as far as it fits into the buffer, and whether that is the whole token.
func (s *source) token() (part []byte, whole bool) {
	limit := len(s.buf) - lookback
	for n := 0; ; {
		rest := s.unread()
		rest = rest[:min(len(rest), limit)]
		for ; n < len(rest); n++ {
			if space[rest[n]] {
				return rest[:n], true
			}
		}
		if n == limit {
			return rest, false
		}
		if !s.fill() {
			return s.unread(), true // fill has moved the bytes of rest
		}
	}
}

// common returns the length of the common prefix of both buffers. It reads if one of them is empty. It returns 0 at a
// difference and at the end of a stream.
func common(a, b *source) int {
	if a.ended() || b.ended() {
		return 0
	}
	return prefix(a.unread(), b.unread())
}

func prefix(a, b []byte) int {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for ; i < n && a[i] == b[i]; i++ {
	}
	return i
}

// space is the white space of the ICPC package format, blank the white space within a line.
var (
	space = [256]bool{' ': true, '\t': true, '\n': true, '\v': true, '\f': true, '\r': true}
	blank = [256]bool{' ': true, '\t': true, '\v': true, '\f': true, '\r': true}
)
