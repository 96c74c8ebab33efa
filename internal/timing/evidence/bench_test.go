package evidence

import (
	"testing"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// BenchmarkSnapshot measures a snapshot on the live machine. Every run takes two.
func BenchmarkSnapshot(b *testing.B) {
	r, err := NewReader(hostfs.New("/"), cpuset.New(0), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.ReportAllocs()
	for b.Loop() {
		r.Snapshot()
	}
}

// BenchmarkParseInterrupts measures only the parser, for a machine with 128 CPUs and 1000 devices (1.5 MB).
func BenchmarkParseInterrupts(b *testing.B) {
	text := []byte(bigInterrupts(128, 1000))
	cpus, known, columns, rows := cpuset.New(64), names{}, make([]bool, 0, 128), make([]row, 0, 8)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		parseInterrupts(text, cpus, known, columns, rows)
	}
}
