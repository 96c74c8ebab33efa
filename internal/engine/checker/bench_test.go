package checker_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"judged/internal/api"
)

// BenchmarkCheck reports MB/s of output read and, as x-read, the ratio to the time of a plain read of both sides into a
// buffer.
func BenchmarkCheck(b *testing.B) {
	integers := numbers(func(r *rand.Rand) string { return fmt.Sprint(r.IntN(1_000_000)) })
	floats := numbers(func(r *rand.Rand) string { return fmt.Sprintf("%.12f", r.Float64()*1000) })
	rounded := numbers(func(r *rand.Rand) string { return fmt.Sprintf("%.9f", r.Float64()*1000) })
	crlf := bytes.ReplaceAll(integers, []byte("\n"), []byte("\r\n"))
	words := numbers(func(r *rand.Rand) string { return fmt.Sprintf("Word%x", r.IntN(1_000_000)) })
	long := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	benchmarks := []struct {
		name, kind     string
		output, answer []byte
	}{
		{"tokens/equal", "tokens", integers, integers},
		{"tokens/crlf", "tokens", crlf, integers},
		{"tokens/case", "tokens", bytes.ToUpper(words), words},
		{"tokens/one-token", "tokens", long, long},
		{"tokens/one-token-case", "tokens", bytes.ToUpper(long), long},
		{"exact/equal", "exact", integers, integers},
		{"lines/equal", "lines", integers, integers},
		{"lines/crlf", "lines", crlf, integers},
		{"float/equal", "float:1e-6", floats, floats},
		{"float/rounded", "float:1e-6", rounded, floats},
	}
	for _, bb := range benchmarks {
		b.Run(bb.name, func(b *testing.B) {
			c := parse(b, bb.kind)
			b.SetBytes(int64(len(bb.output)))
			b.ReportAllocs()
			var check, read time.Duration
			for b.Loop() {
				start := time.Now()
				got, err := c.Check(b.Context(), plain{bytes.NewReader(bb.output)}, plain{bytes.NewReader(bb.answer)})
				check += time.Since(start)
				if err != nil || got.Verdict != api.Accepted {
					b.Fatal(got, err)
				}
				start = time.Now()
				drain(bb.output)
				drain(bb.answer)
				read += time.Since(start)
			}
			b.ReportMetric(check.Seconds()/read.Seconds(), "x-read")
			b.ReportMetric(float64(len(bb.output))*float64(b.N)/check.Seconds()/1e6, "check-MB/s")
		})
	}
}

func numbers(number func(*rand.Rand) string) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	for range 500_000 {
		text.WriteString(number(r))
		text.WriteByte('\n')
	}
	return text.Bytes()
}

// plain hides WriteTo, so that data is copied as from a file.
type plain struct{ io.Reader }

func drain(text []byte) {
	buf := make([]byte, 64<<10)
	for r := (plain{bytes.NewReader(text)}); ; {
		if _, err := r.Read(buf); err != nil {
			return
		}
	}
}
