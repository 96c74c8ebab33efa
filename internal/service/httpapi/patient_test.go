package httpapi

import (
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// slowBody is a body that arrives in parts, each after a pause. It implements the methods that patient uses of a
// connection.
type slowBody struct {
	http.ResponseWriter
	parts    func(n int) (pause time.Duration, size int) // size 0 is the end
	n        int
	deadline time.Time
}

func (b *slowBody) SetReadDeadline(t time.Time) error {
	b.deadline = t
	return nil
}

func (b *slowBody) Read(p []byte) (int, error) {
	pause, size := b.parts(b.n)
	if left := time.Until(b.deadline); pause > left {
		time.Sleep(left)
		return 0, os.ErrDeadlineExceeded
	}
	b.n++
	time.Sleep(pause)
	if size == 0 {
		return 0, io.EOF
	}
	return min(size, len(p)), nil
}

func (b *slowBody) Close() error { return nil }

// TestPatience checks how long a body may take. The memory that is reserved for it must not be held by a sender that
// stops after most of it.
func TestPatience(t *testing.T) {
	const large = 60 << 20
	every := func(pause time.Duration, size, times int) func(int) (time.Duration, int) {
		return func(n int) (time.Duration, int) {
			if n == times {
				return 0, 0
			}
			return pause, size
		}
	}
	after := func(size int, rest func(int) (time.Duration, int)) func(int) (time.Duration, int) {
		return func(n int) (time.Duration, int) {
			if n == 0 {
				return 0, size
			}
			return rest(n)
		}
	}
	for name, tt := range map[string]struct {
		parts func(int) (time.Duration, int)
		busy  time.Duration // of the server after each part
		most  time.Duration // until the end, which is an error if late
		late  bool
	}{
		"steady":                {every(time.Second, minRate+100, 1000), 0, 1000 * time.Second, false},
		"in bursts":             {every(25*time.Second, 2<<20, 30), 0, 750 * time.Second, false},
		"a pause":               {after(large, every(29*time.Second, large, 2)), 0, time.Minute, false},
		"a busy server":         {every(time.Second, 2*minRate, 10), 5 * time.Minute, time.Hour, false},
		"trickle":               {every(20*time.Second, 1, 100), 0, time.Minute, true},
		"trickle after a burst": {after(large, every(20*time.Second, 1, 100)), 0, 3 * time.Minute, true},
		"slower for a while":    {after(large, every(20*time.Second, 20*minRate/2, 12)), 0, 4 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body := &slowBody{parts: tt.parts}
				p := &patient{ReadCloser: body, control: http.NewResponseController(body), stall: stall}
				begun, buffer := time.Now(), make([]byte, large)
				var err error
				for err == nil {
					_, err = p.Read(buffer)
					time.Sleep(tt.busy)
				}
				took := time.Since(begun)
				if late := errors.Is(err, os.ErrDeadlineExceeded); late != tt.late || took > tt.most {
					t.Errorf("%v after %v, want late %v within %v", err, took, tt.late, tt.most)
				}
			})
		})
	}
}
