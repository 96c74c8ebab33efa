package testkit

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"judged/internal/base/linux"
)

// CompileC builds the C program in the file src with gcc -O2, statically linked if static is set, and returns
// the path of the executable. Every user can read and execute it, unlike files in t.TempDir.
//
// If TestMain uses Run, a source is built once per content, and Run removes the result; otherwise it is removed
// when t ends. The test is skipped (see Need) if there is no compiler. In a guest, which has no compiler, it is
// the program that was shipped next to its source.
func CompileC(t testing.TB, src string, static bool) string {
	t.Helper()
	if shipped := strings.TrimSuffix(src, ".c"); isFile(shipped) {
		return shipped
	}
	need := GCC
	if static {
		need = StaticGCC
	}
	Need(t, need)
	return compile(t, hostGCC, src, static)
}

// CompileArm64 is like CompileC for arm64 guests, always statically linked.
func CompileArm64(t testing.TB, src string) string {
	t.Helper()
	Need(t, GCCArm64)
	return compile(t, GCCForArm64, src, true)
}

// CompileStatic is like CompileC, statically linked, with the given compiler.
func CompileStatic(t testing.TB, gcc, src string) string {
	t.Helper()
	return compile(t, gcc, src, true)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// JuryProgram returns a program of testdata/jury, statically linked.
func JuryProgram(t testing.TB, name string) string {
	t.Helper()
	return CompileC(t, JurySource(t, name), true)
}

// JurySource returns the source of a program of testdata/jury.
func JurySource(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(RepoRoot(t), "testdata", "jury", name+".c")
}

// GCCForArm64 is the compiler for arm64 guests.
const GCCForArm64 = "aarch64-linux-gnu-gcc"

const hostGCC = "gcc"

// OnAllCPUs calls build with 0 to n-1, as many calls at once as there are CPUs. What they execute may run on all CPUs,
// even if an engine has moved this process to some of them.
func OnAllCPUs(n int, build func(i int)) {
	var all []int
	for cpu := range runtime.NumCPU() {
		all = append(all, cpu)
	}
	var next atomic.Int64
	var building sync.WaitGroup
	for range all {
		building.Go(func() {
			runtime.LockOSThread()        // and not unlocked, so that the thread exits with its affinity
			_ = linux.SetAffinity(0, all) // otherwise it takes longer
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				build(int(i))
			}
		})
	}
	building.Wait()
}

func compile(t testing.TB, compiler, src string, static bool) string {
	t.Helper()
	text, err := os.ReadFile(src)
	if err != nil {
		t.Fatalf("read C source: %v", err)
	}
	out, err := compiled.get(fmt.Sprintf("%x-%t-%s", sha256.Sum256(text), static, compiler), func(out string) error {
		return compileC(compiler, src, out, static)
	}, t.Cleanup)
	if err != nil {
		t.Fatalf("compile %s: %v", src, err)
	}
	return out
}

func compileC(compiler, src, out string, static bool) error {
	args := []string{"-O2", "-o", out, src, "-lm", "-pthread"}
	if static {
		args = append(args, "-static")
	}
	if text, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("run %s %q: %w\n%s", compiler, args, err, bytes.TrimSpace(text))
	}
	return nil
}

// compiled is shared by all tests of a binary, so it is a global variable.
var compiled programs

// programs holds the programs built by CompileC between begin and end.
type programs struct {
	mu     sync.Mutex // guards the fields below; held while gcc runs, because two tests may need the same program
	active bool
	dir    string
	paths  map[string]string
}

func (p *programs) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active, p.paths = true, map[string]string{}
}

func (p *programs) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir != "" {
		os.RemoveAll(p.dir)
	}
	p.active, p.dir, p.paths = false, "", nil
}

func (p *programs) get(key string, build func(out string) error, cleanup func(func())) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if out, ok := p.paths[key]; ok {
		return out, nil
	}
	dir, err := p.folder(cleanup)
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, key)
	if err := build(out); err != nil {
		return "", err
	}
	if p.active {
		p.paths[key] = out
	}
	return out, nil
}

func (p *programs) folder(cleanup func(func())) (string, error) {
	if p.dir != "" {
		return p.dir, nil
	}
	dir, err := os.MkdirTemp("", fmt.Sprintf("judged-testkit-%d-", os.Getpid()))
	if err != nil {
		return "", fmt.Errorf("make a folder for programs: %w", err)
	}
	if p.active {
		p.dir = dir
	} else {
		cleanup(func() { os.RemoveAll(dir) })
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", fmt.Errorf("open the folder for programs to all users: %w", err)
	}
	return dir, nil
}
