package checker_test

import (
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"judged/internal/api"
)

// TestHostileOutputs compares hostile outputs: huge, without line or token ends, or consisting of escapes. It checks
// that the checker ends with a verdict and a short message, and uses no more memory than its buffers.
func TestHostileOutputs(t *testing.T) {
	const size = 16 << 20 // bytes, more than may be held
	nines := func() io.Reader { return endless("9", size) }
	tests := []struct {
		name, kind     string
		output, answer func() io.Reader
		want           api.Verdict
	}{
		{"one token", "tokens", func() io.Reader { return endless("a", size) }, text("a"), api.WrongAnswer},
		{"one token in another case", "tokens", func() io.Reader { return endless("aB", size) },
			func() io.Reader { return endless("Ab", size) }, api.Accepted},
		{"white space before the token", "tokens",
			func() io.Reader { return io.MultiReader(endless(" \n", size), text("a")()) }, text("a"), api.Accepted},
		{"only white space", "lines", func() io.Reader { return endless("\r\n \t", size) }, text("x"), api.WrongAnswer},
		{"one line", "lines", func() io.Reader { return endless("a ", size) }, text("a a"), api.WrongAnswer},
		{"one line that ends in white space", "lines",
			func() io.Reader { return io.MultiReader(text("a")(), endless(" ", size)) }, text("a\n"), api.Accepted},
		{"one line, exact", "exact", func() io.Reader { return endless("a", size) },
			func() io.Reader { return endless("a", size-1) }, api.WrongAnswer},
		{"a number of millions of digits", "float:1e-6", nines, text("1"), api.WrongAnswer},
		{"the same", "float:1e-6", nines, nines, api.Accepted},
		{"a fraction of as many", "float:1e-6", func() io.Reader {
			return io.MultiReader(text("0.")(), endless("3", size))
		}, text("0.333333333"), api.WrongAnswer},
		{"an exponent of as many", "float:1e-6", func() io.Reader {
			return io.MultiReader(text("1e")(), endless("9", size))
		}, text("1"), api.WrongAnswer},
		{"many numbers", "float:1e-6", func() io.Reader { return endless("1e9 ", size/20) },
			func() io.Reader { return endless("1000000000 ", size/20*11/4) }, api.Accepted},
		{"escapes", "exact", func() io.Reader { return endless("\x1b[2J\xff\u202e", size) }, text(""), api.WrongAnswer},
	}
	for _, tt := range tests {
		t.Run(tt.kind+"/"+tt.name, func(t *testing.T) {
			c := parse(t, tt.kind)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := c.Check(t.Context(), tt.output(), tt.answer())
			runtime.ReadMemStats(&after)
			if err != nil || got.Verdict != tt.want || len(got.Message) > 1000 ||
				strings.ContainsFunc(got.Message, func(r rune) bool { return r < ' ' }) {
				t.Errorf("%s %q, %v", got.Verdict, got.Message, err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
				t.Errorf("allocated %d bytes", n)
			}
			if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > 8<<20 {
				t.Errorf("holds %d bytes more", n)
			}
		})
	}
}

func text(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }

// TestNumbersThatAreNone checks that words for numbers are text: equal to themselves in any case, and not near any
// number.
func TestNumbersThatAreNone(t *testing.T) {
	for _, word := range []string{"nan", "NaN", "-nan", "nan(0x1)", "inf", "-Inf", "Infinity", "0x1p-1022", "0X1.8P1",
		"1e", "1e+", "--1", "1_000", "1,5", "١", "1e1e1", "0x10", "+", ".", "e5", "1d0", "1f"} {
		for answer, want := range map[string]api.Verdict{word: api.Accepted, "0": api.WrongAnswer, "1": api.WrongAnswer,
			"16": api.WrongAnswer, "inf1": api.WrongAnswer} {
			if got := check(t, "float:1e300", word, answer); got.Verdict != want {
				t.Errorf("%q against %q: %s, want %s", word, answer, got.Verdict, want)
			}
			if got := check(t, "float:1e300", answer, word); got.Verdict != want {
				t.Errorf("%q against %q: %s, want %s", answer, word, got.Verdict, want)
			}
		}
	}
}

// TestWorkIsLinear compares n bytes and 4n bytes of the inputs with the highest cost per byte, by the CPU time of its
// thread, which excludes other work on the machine. Quadratic work would be 16 times as much.
func TestWorkIsLinear(t *testing.T) {
	const n, most = 128 << 10, 9
	for _, tt := range []struct{ name, kind, output, answer string }{
		{"one token", "tokens", "aB", "Ab"},
		{"short tokens", "tokens", "a B ", "A b "},
		{"numbers", "float:1e-6", "1.0 ", "1.00000 "},
		{"numbers that need every digit", "float:1e-6", "1.000001 ", "1.00000 "},
		{"numbers as long as the buffer", "float:1e-6", strings.Repeat("1", 65_000) + " ", strings.Repeat("1", 64_999) +
			"1.0 "},
		{"one number", "float:1e-6", "7", "7"},
		{"white space at line ends", "lines", "a" + strings.Repeat(" ", 5000) + "\n", "a\n"},
		{"empty lines", "lines", "\n", "\n"},
		{"equal", "exact", "a\n", "a\n"},
	} {
		t.Run(tt.kind+"/"+tt.name, func(t *testing.T) {
			c := parse(t, tt.kind)
			work := func(repeats int64) time.Duration {
				best := time.Duration(math.MaxInt64)
				for range 3 {
					begin := threadTime(t)
					got, err := c.Check(t.Context(), endless(tt.output, repeats*int64(len(tt.output))),
						endless(tt.answer, repeats*int64(len(tt.answer))))
					best = min(best, threadTime(t)-begin)
					if err != nil || got.Verdict != api.Accepted {
						t.Fatalf("%s %q, %v", got.Verdict, got.Message, err)
					}
				}
				return best
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			repeats := int64(n / len(tt.output))
			if once, four := work(repeats), work(4*repeats); four > most*once {
				t.Errorf("%v for %d bytes, %v for four times as many", once, n, four)
			}
		})
	}
}

// threadTime returns the CPU time of the calling thread, with a finer resolution than getrusage.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
