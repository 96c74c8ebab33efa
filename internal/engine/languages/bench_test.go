package languages_test

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkCached measures a compilation whose result is in the cache, and the previous one, which fills the cache.
func BenchmarkCached(b *testing.B) {
	c := open(b, b.TempDir(), plenty)
	s := source(b, "c", "", goodC)
	compile(b, c, source(b, "c", "", "int main(void) {}")) // asks for the version
	begin := time.Now()
	compile(b, c, s).Close()
	first := time.Since(begin)
	var hits []time.Duration
	for b.Loop() {
		begin := time.Now()
		r, err := c.Compile(b.Context(), s)
		if err != nil || !r.Cached {
			b.Fatal(r, err)
		}
		hits = append(hits, time.Since(begin))
		r.Close()
	}
	slices.Sort(hits)
	b.ReportMetric(float64(first)/1e6, "compile-ms")
	b.ReportMetric(float64(hits[len(hits)/2])/1e3, "cached-p50-us")
	b.ReportMetric(float64(hits[len(hits)/2])/float64(first), "cached/compile")
}
