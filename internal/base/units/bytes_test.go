package units

import (
	"math"
	"strings"
	"testing"
)

func TestParseBytes(t *testing.T) {
	const k, m, g = 1 << 10, 1 << 20, 1 << 30
	tests := []struct {
		in   string
		want Bytes
		err  string // part of the message
	}{
		{in: "0", want: 0},
		{in: "512", want: 512},
		{in: "512B", want: 512},
		{in: "4KiB", want: 4 * k},
		{in: "256MiB", want: 256 * m},
		{in: " 256 MiB\n", want: 256 * m},
		{in: "1GiB", want: g},
		{in: "1.5GiB", want: g + g/2},
		{in: "0.0009765625MiB", want: k},
		{in: "0.3KiB", want: 307},
		{in: "0.999999999999999999KiB", want: 1023},
		{in: "00012B", want: 12},
		{in: "9223372036854775807", want: math.MaxInt64},
		{in: "7.999999999999999999EiB", want: math.MaxInt64 - 1},

		{in: "", err: "not a number with a unit"},
		{in: "MiB", err: "not a number with a unit"},
		{in: "+1MiB", err: "not a number with a unit"},
		{in: "1-MiB", err: "not a number with a unit"},
		{in: ".5GiB", err: "not a number with a unit"},
		{in: "1.GiB", err: "not a number with a unit"},
		{in: "1.2.3GiB", err: "not a number with a unit"},
		{in: "1e3", err: `unknown unit "e3"`},
		{in: "12 parsecs", err: `unknown unit "parsecs": write B, KiB`},
		{in: "1MiBs", err: `unknown unit "MiBs"`},
		{in: "64KB", err: `unit "KB" means powers of 1000 to some and of 1024 to others: write KiB`},
		{in: "64kB", err: "write KiB"},
		{in: "64k", err: "write KiB"},
		{in: "64MB", err: "write MiB"},
		{in: "64mib", err: "write MiB"},
		{in: "1GB", err: "write GiB"},
		{in: "1G", err: "write GiB"},
		{in: "-1MiB", err: "not negative"},
		{in: "1.5", err: "a byte has no fraction"},
		{in: "1.0B", err: "a byte has no fraction"},
		{in: "0.1234567890123456789KiB", err: "more than 18 digits"},
		{in: "8EiB", err: "larger than 9223372036854775807 bytes"},
		{in: "8589934592GiB", err: "larger than"},
		{in: "9223372036854775808", err: "larger than"},
		{in: "99999999999999999999", err: "larger than"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := ParseBytes(tt.in)
			if got != tt.want {
				t.Errorf("ParseBytes(%q) = %d, want %d", tt.in, got, tt.want)
			}
			checkError(t, err, tt.err)
		})
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("no error, want one with %q", want)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("error %q, want %q in it", err, want)
	}
}

func TestBytesString(t *testing.T) {
	tests := []struct {
		in   Bytes
		want string
	}{
		{0, "0B"},
		{1, "1B"},
		{1000, "1000B"},
		{1023, "1023B"},
		{1024, "1KiB"},
		{1025, "1025B"},
		{1536, "1536B"},
		{10240, "10KiB"},
		{256 << 20, "256MiB"},
		{1<<30 + 1<<29, "1.5GiB"},
		{1<<30 + 1<<20, "1025MiB"},
		{1<<40 + 1<<37, "1152GiB"}, // shorter than 1.125TiB,
		{5 << 60, "5EiB"},
		{math.MaxInt64, "9223372036854775807B"},
		{-512, "-512B"},
	}
	for _, tt := range tests {
		if got := tt.in.String(); got != tt.want {
			t.Errorf("Bytes(%d).String() = %q, want %q", int64(tt.in), got, tt.want)
		}
	}
}

func TestBytesFlag(t *testing.T) {
	b := Bytes(7)
	checkError(t, b.Set("1KB"), "write KiB")
	if b != 7 {
		t.Errorf("a refused value changed the flag to %d", b)
	}
	checkError(t, b.Set("1KiB"), "")
	if b != 1024 || b.Type() != "bytes" {
		t.Errorf("got %d of type %q, want 1024 of type \"bytes\"", b, b.Type())
	}
}
