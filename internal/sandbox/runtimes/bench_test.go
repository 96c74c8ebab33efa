package runtimes

import (
	"path/filepath"
	"testing"

	"judged/internal/testkit"
)

// hostPlaces are the Places used by the sandbox.
var hostPlaces = Places{
	Shown: []string{"/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/java-17-openjdk", "/etc/mono",
		"/etc/python3", "/etc/python3.11"},
	Path: []string{"/usr/local/bin", "/usr/bin", "/bin"}, Cache: hostCache,
}

// BenchmarkFind measures the cost per job outside the timing of its runs, with all files in memory: stale once
// per maxAge, fresh otherwise.
func BenchmarkFind(b *testing.B) {
	testkit.Need(b, testkit.Python, testkit.Java, testkit.Node)
	dir := b.TempDir()
	static, dynamic := link(b, filepath.Join(dir, "static"), "-static"), link(b, filepath.Join(dir, "dynamic"), "-lm")
	f := NewFinder(hostPlaces)
	for _, bb := range []struct {
		name, program string
		files         []string
	}{
		{"static", "", []string{static}}, {"dynamic", "", []string{dynamic}}, {"python", "python3", nil},
		{"java", "java", nil}, {"node", "node", nil},
	} {
		programs := inspect(bb.files...)
		b.Run(bb.name+"/stale", func(b *testing.B) {
			for b.Loop() {
				f.Forget()
				f.Find(bb.program, programs)
			}
		})
		b.Run(bb.name+"/fresh", func(b *testing.B) {
			for b.Loop() {
				f.Find(bb.program, programs)
			}
		})
	}
}
