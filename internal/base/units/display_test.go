package units

import (
	"math"
	"testing"
	"time"
)

func TestRound(t *testing.T) {
	tests := []struct {
		in   Bytes
		want string
	}{
		{0, "0 B"},
		{1023, "1023 B"},
		{1024, "1.0 KiB"},
		{1075, "1.0 KiB"},
		{1076, "1.1 KiB"}, // 1.0508
		{102347, "99.9 KiB"},
		{102348, "99.9 KiB"}, // 99.9492
		{102349, "100 KiB"},  // 99.9502
		{1048063, "1023 KiB"},
		{1048064, "1.0 MiB"}, // 1023.5 KiB
		{1258291, "1.2 MiB"},
		{256 << 20, "256 MiB"},
		{math.MaxInt64, "8.0 EiB"},
		{math.MinInt64, "-8.0 EiB"},
		{-1536, "-1.5 KiB"},
	}
	for _, tt := range tests {
		if got := Round(tt.in); got != tt.want {
			t.Errorf("Round(%d) = %q, want %q", int64(tt.in), got, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	tests := []struct {
		in   time.Duration
		want string
	}{
		{0, "0 s"},
		{1, "1 ns"},
		{999, "999 ns"},
		{1000, "1 µs"},
		{1499, "1 µs"},
		{1500, "2 µs"},
		{850 * time.Microsecond, "850 µs"},
		{999_499, "999 µs"},
		{999_500, "1.0 ms"},
		{1_049_999, "1.0 ms"},
		{1_050_000, "1.1 ms"},
		{12_345_678, "12.3 ms"},
		{999_949_999, "999.9 ms"},
		{999_950_000, "1.000 s"},
		{1_234_499_999, "1.234 s"}, // rounding twice would give 1.235
		{1_234_500_000, "1.235 s"},
		{time.Hour, "3600.000 s"},
		{-12_345_678, "-12.3 ms"},
		{math.MaxInt64, "9223372036.855 s"},
		{math.MinInt64, "-9223372036.855 s"},
	}
	for _, tt := range tests {
		if got := Duration(tt.in); got != tt.want {
			t.Errorf("Duration(%d) = %q, want %q", int64(tt.in), got, tt.want)
		}
	}
}
