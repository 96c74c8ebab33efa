package initproc

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzLoad checks that the decoder never panics or allocates more than the input size, and that accepted input
// survives encoding and decoding.
func FuzzLoad(f *testing.F) {
	load := someLoad()
	f.Add(load.Encode())
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add(append(load.Encode(), 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		var l Load
		if l.Decode(b) != nil {
			return
		}
		if n := len(l.Args) + len(l.Env) + len(l.CPUs) + len(l.Seccomp); n > len(b) {
			t.Errorf("%d elements from %d bytes", n, len(b))
		}
		var again Load
		if err := again.Decode(l.Encode()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(l, again); diff != "" {
			t.Errorf("-first +second\n%s", diff)
		}
	})
}

// FuzzAnswer checks that an answer of judged-init is a process or an error, that ParseAnswer parses the output
// of answer, and that a parsed request has exactly the received descriptors.
func FuzzAnswer(f *testing.F) {
	f.Add(answer(4711, nil), 4711, "")
	f.Add(answer(0, errors.New("clone3: no")), 12, "mount proc: no")
	f.Add([]byte{msgPID, 0x80}, -1, "\xff\x1b")
	f.Add([]byte{msgChild, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 1, "")
	f.Add([]byte{msgChild, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 1, "")
	f.Fuzz(func(t *testing.T, msg []byte, pid int, failure string) {
		if got, err := ParseAnswer(msg); err == nil && got <= 0 {
			t.Errorf("pid %d without an error", got)
		}
		if failure != "" {
			got, err := ParseAnswer(answer(pid, errors.New(failure)))
			if got != pid || err == nil || len(failure) < MaxMessage/2 && err.Error() != "judged-init: "+failure {
				t.Errorf("failure %q of pid %d: parsed as %v of pid %d", failure, pid, err, got)
			}
		} else if pid > 0 {
			if got, err := ParseAnswer(answer(pid, nil)); got != pid || err != nil {
				t.Errorf("pid %d: parsed as %d, %v", pid, got, err)
			}
		}
		checkRequest(t, msg)
	})
}

// checkRequest takes the first two bytes as a message and each of the others as a descriptor.
func checkRequest(t *testing.T, msg []byte) {
	var fds []int
	for _, b := range msg[min(len(msg), 2):] {
		fds = append(fds, int(b))
	}
	r, err := parseRequest(msg[:min(len(msg), 2)], fds)
	if err != nil {
		return
	}
	again, listed := r.Request()
	if diff := cmp.Diff(fds, listed); diff != "" {
		t.Errorf("descriptors (-sent +again)\n%s", diff)
	}
	if msg[0] == msgChild && !bytes.Equal(again, msg[:2]) {
		t.Errorf("message %v, again %v", msg[:2], again)
	}
}
