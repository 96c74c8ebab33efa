package queue

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"judged/internal/base/job"
)

// FuzzDelivery reads messages as a cluster may hold them: anybody who may
// publish there can write any.
func FuzzDelivery(f *testing.F) {
	f.Add("jobs.default.practice.a=1", "$JS.ACK.JUDGED_QUEUE.default_practice.1.2.3.1700000000000000000.0", []byte("a.1"))
	f.Add("jobs.default.contest.x", "$JS.ACK._.h.JUDGED_QUEUE.c.3.2.3.4.0.r", []byte("../x"))
	f.Add("jobs.default..", "$JS.ACK.a.b.c.d.e.f.g", []byte{})
	f.Add("told.a", "", []byte("\xff"))
	f.Fuzz(func(t *testing.T, subject, reply string, data []byte) {
		q := &Queue{opts: withDefaults(Options{})}
		for _, p := range job.Priorities() {
			q.classes = append(q.classes, newClass(defaultPool, p))
		}
		m := &nats.Msg{Subject: subject, Reply: reply, Data: data, Sub: &nats.Subscription{}}
		d, err := q.delivery(m)
		flying := 0
		for _, c := range q.classes {
			flying += int(c.flying.Load())
		}
		if err != nil {
			if d != nil || flying != 0 {
				t.Errorf("%+v, %d in flight, error %v", d, flying, err)
			}
			return
		}
		if d.ID != string(data) || d.Last != (d.Attempt >= defaultDeliver) || flying != 1 || d.Attempt < 1 ||
			!strings.HasPrefix(subject, "jobs.default."+string(d.Priority)+".") {
			t.Errorf("%+v of %q, %d in flight", d, subject, flying)
		}
		if status(m) != "" {
			t.Errorf("status %q of a message without one", status(m))
		}
	})
}

// FuzzToken holds that an id is one token, and no two ids are the same one.
func FuzzToken(f *testing.F) {
	for _, s := range []string{"a", "a.1", "a=1", "..", "*", ">", "a b", "", "\x00"} {
		f.Add(s, "a.1")
	}
	f.Fuzz(func(t *testing.T, id, other string) {
		one, err := tokenOf(id)
		if err != nil {
			if !strings.Contains(err.Error(), "an id has only letters") || one != "" {
				t.Errorf("token %q, error %v", one, err)
			}
			return
		}
		if strings.ContainsAny(one, ".*> \t\r\n\x00") || one == "" {
			t.Errorf("token %q", one)
		}
		if two, err := tokenOf(other); err == nil && (one == two) != (id == other) {
			t.Errorf("%q and %q become %q and %q", id, other, one, two)
		}
	})
}
