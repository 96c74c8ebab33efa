package jobs

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzUnpack checks that a damaged column yields an error, never a panic or more memory than allowed.
func FuzzUnpack(f *testing.F) {
	for _, v := range []any{nil, sampleJob(), bulkyJob(), sampleReport("AC")} {
		packed, err := packJSON(v)
		if err != nil {
			f.Fatal(err)
		}
		want, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		if got, err := unpack(packed); err != nil || !bytes.Equal(got, want) {
			f.Fatalf("unpacked %q, %v", got, err)
		}
		f.Add(packed)
	}
	f.Add([]byte{})
	f.Add([]byte{2, 'x'})
	f.Add([]byte{packedS2, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		if plain, err := unpack(data); err == nil && len(plain) > maxUnpacked {
			t.Errorf("%d bytes", len(plain))
		}
	})
}

// FuzzCursor checks that only cursors that were written can be read.
func FuzzCursor(f *testing.F) {
	f.Add(cursor(1, 2))
	f.Add(cursor(-1, 1<<62))
	f.Add("MSAyIDM")
	f.Fuzz(func(t *testing.T, c string) {
		if created, seq, err := parseCursor(c); err == nil && cursor(created, seq) != c {
			t.Errorf("cursor %q was read as %d, %d", c, created, seq)
		}
	})
}

// FuzzMessage checks that no message of another process causes a panic.
func FuzzMessage(f *testing.F) {
	for _, m := range []string{"", "job a", "work 1 default", "work x", "work 99999999999999999999 p"} {
		f.Add(m)
	}
	f.Fuzz(func(_ *testing.T, m string) {
		var h notifier
		h.line(slotClass{"default", 1, false})
		h.watch("a")
		h.receive(m)
	})
}
