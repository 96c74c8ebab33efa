package runtimes

import (
	"path/filepath"
	"testing"
	"time"

	"judged/internal/testkit"
)

// BenchmarkRead is what a job pays, off the clock of its runs, with everything
// in memory: once in a while, and otherwise.
func BenchmarkRead(b *testing.B) {
	testkit.Need(b, testkit.Python, testkit.Java, testkit.Node)
	dir := b.TempDir()
	static, dynamic := link(b, filepath.Join(dir, "static"), "-static"), link(b, filepath.Join(dir, "dynamic"), "-lm")
	r := NewReader([]string{"/usr", "/lib", "/lib64"}, []string{"/usr/bin"})
	clock := time.Duration(0)
	r.now = func() time.Duration { return clock }
	for _, bb := range []struct {
		name    string
		read    func(string)
		program string
	}{
		{"static", r.Contestant, static}, {"dynamic", r.Contestant, dynamic},
		{"python", r.Program, "python3"}, {"java", r.Program, "java"}, {"node", r.Program, "node"},
	} {
		b.Run(bb.name+"/stale", func(b *testing.B) {
			for b.Loop() {
				clock += fresh
				bb.read(bb.program)
			}
		})
		b.Run(bb.name+"/fresh", func(b *testing.B) {
			for b.Loop() {
				bb.read(bb.program)
			}
		})
	}
}
