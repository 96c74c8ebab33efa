package client

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPersist: only judged itself may be waited for without a bound. A proxy that does not reach it answers, too.
func TestPersist(t *testing.T) {
	const long = 1000
	for name, tt := range map[string]struct {
		reached bool
		err     error
		asked   int
	}{
		"queue full":            {false, &Problem{Status: 429, Type: "urn:judged:queue-full"}, long},
		"not ready":             {false, &Problem{Status: 503, Type: "urn:judged:not-ready"}, long},
		"fails":                 {true, &Problem{Status: 500, Type: "urn:judged:internal"}, maxLost + 1},
		"away":                  {true, &Unreachable{"http://x", errors.New("refused")}, maxLost + 1},
		"never there":           {false, &Unreachable{"http://x", errors.New("refused")}, 1},
		"502 of a proxy":        {true, &Problem{Status: 502}, maxLost + 1},
		"503 of a proxy":        {true, &Problem{Status: 503}, maxLost + 1},
		"504 of a proxy":        {true, &Problem{Status: 504, Type: "about:blank"}, maxLost + 1},
		"429 of a proxy":        {false, &Problem{Status: 429, RetryAfter: time.Hour}, maxLost + 1},
		"502 of a proxy, first": {false, &Problem{Status: 502}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				_, err := persist(t.Context(), tt.reached, func() (struct{}, error) {
					if asked++; asked == long {
						return struct{}{}, nil
					}
					return struct{}{}, tt.err
				})
				if asked != tt.asked || (err == nil) != (asked == long) {
					t.Errorf("asked %d times, want %d: %v", asked, tt.asked, err)
				}
			})
		})
	}
}
