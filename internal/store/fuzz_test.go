package store

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"judged/internal/base/job"
)

// FuzzRecord holds that no message makes the reader of records panic or reserve
// memory that the message does not earn, that errors name the job, and that what
// was read is read again when it is written.
func FuzzRecord(f *testing.F) {
	r := Record{ID: "a.1", BodyDigest: "d", Job: job.Job{Program: job.File{Blob: "x"}, Tests: []job.Test{{Name: "1"}}},
		Report: job.Report{ID: "a.1", State: job.Running, CreatedAt: time.Unix(1, 2).UTC(), Labels: map[string]string{"a": "b"}}, CPUs: "2-3", Delivery: 7}
	m, _, err := encode(r)
	if err != nil {
		f.Fatal(err)
	}
	r.Job.Command = []string{strings.Repeat("x", 2*compressAbove)}
	long, _, err := encode(r)
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range []*nats.Msg{m, long} {
		f.Add(m.Header.Get(headHeader), m.Header.Get(encodingHeader), m.Data, uint64(5))
	}
	f.Add(`{"report":{"tests":[{}]}}`, "", []byte(`{"tests":[{"runs":[{}]}]}`), uint64(0))
	f.Add(`{}`, "s2", []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, uint64(1))
	f.Add(`{}`, "zstd", []byte{}, uint64(1))
	f.Add(`null`, "", []byte(`null`), uint64(1))
	f.Fuzz(func(t *testing.T, head, encoding string, data []byte, seq uint64) {
		if n, err := s2.DecodedLen(data); encoding == encodingS2 && err == nil && n > 1<<20 && n <= maxBody {
			return // allowed, and slow to unpack a million times
		}
		m := &jetstream.RawStreamMsg{Subject: recordSubject("a.1"), Sequence: seq, Data: data,
			Header: nats.Header{headHeader: {head}, encodingHeader: {encoding}}}
		got, err := decode(m)
		if err != nil {
			if !strings.Contains(err.Error(), `record "a.1"`) || got.ID != "" {
				t.Errorf("record %q, error %v", got.ID, err)
			}
			return
		}
		if got.ID != "a.1" || got.Revision != seq {
			t.Errorf("record %q at %d", got.ID, got.Revision)
		}
		holdAgain(t, got)
	})
}

func holdAgain(t *testing.T, r Record) {
	m, h, err := encode(r)
	if err != nil {
		return // labels too long for a header, or a year beyond JSON's
	}
	again, err := decode(&jetstream.RawStreamMsg{Subject: m.Subject, Sequence: r.Revision, Data: m.Data, Header: m.Header})
	if err != nil {
		t.Fatalf("written as %s and %q: %v", h, m.Data, err)
	}
	if diff := cmp.Diff(asJSON(t, r), asJSON(t, again), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-read +read again):\n%s", diff)
	}
}

// asJSON does not tell nil from empty, as records do not.
func asJSON(t *testing.T, r Record) string {
	text, err := json.Marshal([]any{r.ID, r.BodyDigest, r.Job, r.Report, r.CPUs, r.Delivery, r.Revision})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FuzzCursor holds that cursors come back, that nothing else is one, and that
// an id is a token of a subject and back.
func FuzzCursor(f *testing.F) {
	f.Add("MTIzIGE", "a.1", int64(123))
	f.Add("", "", int64(0))
	f.Add("MTIz", "=", int64(-1))
	f.Add("OTIyMzM3MjAzNjg1NDc3NTgwOCBh", strings.Repeat("a", 64), int64(1)<<62)
	f.Fuzz(func(t *testing.T, text, id string, nanos int64) {
		if created, found, err := parseCursor(text); err != nil && !errors.Is(err, ErrBadCursor) || err == nil && (!ValidID(found) || cursor(&entry{id: found, created: created}) == "") {
			t.Errorf("cursor %q: %q, %v", text, found, err)
		}
		if !ValidID(id) {
			return
		}
		created, got, err := parseCursor(cursor(&entry{id: id, created: time.Unix(0, nanos)}))
		if err != nil || got != id || created.UnixNano() != nanos {
			t.Errorf("%q at %d came back as %q at %d, %v", id, nanos, got, created.UnixNano(), err)
		}
		if s := recordSubject(id); idOf(s) != id || strings.Count(s, ".") != 1 || strings.ContainsAny(s, "*> \t\r\n\x00") {
			t.Errorf("subject %q of %q, back %q", s, id, idOf(s))
		}
	})
}
