package client

import (
	"errors"
	"fmt"
	"testing"
)

// TestClassOf checks the class of each kind of error. TestEveryProblemHasAClass in httpapi covers the problems of
// judged.
func TestClassOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Class
	}{
		{&Unreachable{"http://x", errors.New("refused")}, Passing},
		{errors.New("read answer: unexpected EOF"), Passing},
		{&encodeError{errors.New("unsupported value: +Inf")}, Refused},
		{&Problem{Status: 408}, Passing},
		{&Problem{Status: 429}, Passing},
		{&Problem{Status: 500, Type: "urn:judged:internal"}, Passing},
		{&Problem{Status: 502}, Passing},
		{&Problem{Status: 504}, Passing},
		{&Problem{Status: 413}, Refused}, // from a proxy
		{&Problem{Status: 413, Type: "urn:judged:too-large"}, Refused},
		{&Problem{Status: 400}, Barred}, // not from judged: a proxy that requires TLS, or a wrong address
		{&Problem{Status: 404, Type: "about:blank"}, Barred},
		{&Problem{Status: 401}, Barred},
		{&Problem{Status: 401, Type: "urn:judged:unauthorized"}, Barred},
		{&Problem{Status: 403, Type: "urn:judged:forbidden"}, Barred},
		{&Problem{Status: 400, Type: "urn:judged:protocol"}, Barred},
		{&Problem{Status: 400, Type: "urn:judged:bad-request"}, Refused},
		{&Problem{Status: 404, Type: "urn:judged:not-found"}, Refused},
		{&Problem{Status: 422, Type: "urn:judged:of-a-later-version"}, Refused},
	} {
		if got := ClassOf(fmt.Errorf("finish: %w", tt.err)); got != tt.want {
			t.Errorf("%v: class %d, want %d", tt.err, got, tt.want)
		}
	}
}
