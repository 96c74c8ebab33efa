package attacks

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"judged/internal/testkit"
)

// Load returns the attacks that can be tried on a machine of a GOARCH and are
// named by go test -run, and how many are for others. A guest has neither
// compiler nor libraries: what it gets is shipped.
func Load(t testing.TB, arch string) (all []Attack, foreign int) {
	t.Helper()
	read, err := Read(Folder(t))
	if err != nil {
		t.Fatal(err)
	}
	wanted, inGuest := chosen(t), InGuest(t)
	for _, a := range read {
		switch {
		case !a.fits(arch), inGuest && !a.forGuests():
			foreign++
		case wanted.MatchString(a.Name):
			all = append(all, a)
		}
	}
	return all, foreign
}

// Folder is where the attacks are.
func Folder(t testing.TB) string {
	t.Helper()
	return filepath.Join(testkit.RepoRoot(t), "testdata", "attacks")
}

// Where a guest finds what Ship gives it.
const (
	guestFolder = "/repo/testdata/attacks"
	guestJury   = "/repo/testdata/jury/"
)

// InGuest reports whether this is a guest that Ship was used for.
func InGuest(t testing.TB) bool { return Folder(t) == guestFolder }

// forGuests leaves out what wants a real processor, or timing that emulation
// does not have: what is open may get through anyway.
func (a Attack) forGuests() bool { return !a.Native && !a.Open && a.Language == "" }

// loaders are where programs of a GOARCH have their loader.
var loaders = map[string]string{"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}

// Ship returns the files that a guest of a GOARCH needs to try the attacks, by
// their path there: the data, each program next to its source, and the libraries
// of those that have some.
func Ship(t testing.TB, arch, gcc, dir string) map[string]string {
	t.Helper()
	all, _ := Load(t, arch)
	all = slices.DeleteFunc(all, func(a Attack) bool { return !a.forGuests() })
	files := map[string]string{loaders[arch]: library(t, gcc, filepath.Base(loaders[arch]))}
	for _, name := range []string{"libc.so.6", "libm.so.6", "libgcc_s.so.1"} {
		files["/usr/lib/"+name] = library(t, gcc, name)
	}
	for name, program := range Build(t, gcc, dir, all) {
		files[filepath.Join(guestFolder, name)] = program
	}
	maps.Copy(files, ShipJury(t, gcc))
	data, err := filepath.Glob(filepath.Join(Folder(t), "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range data {
		files[filepath.Join(guestFolder, filepath.Base(path))] = path
	}
	return files
}

// ShipJury returns the programs of testdata/jury for a guest, by their path there.
func ShipJury(t testing.TB, gcc string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"talker", "checker"} {
		files[guestJury+name] = testkit.CompileStatic(t, gcc, testkit.JurySource(t, name))
	}
	return files
}

// library is where a gcc has a library for its programs.
func library(t testing.TB, gcc, name string) string {
	t.Helper()
	out, err := exec.Command(gcc, "-print-file-name="+name).Output()
	path := strings.TrimSpace(string(out))
	if err != nil || !filepath.IsAbs(path) {
		t.Fatalf("find %s of %s: %q, %v", name, gcc, path, err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// Chosen is what go test -run asks for on the level of attacks, with the slash
// before it, or nothing: building 130 programs to run one would make their
// authors wait.
func Chosen() string {
	pattern := flag.Lookup("test.run").Value.String()
	if i := strings.IndexByte(pattern, '/'); i >= 0 {
		return pattern[i:]
	}
	return ""
}

func chosen(t testing.TB) *regexp.Regexp {
	t.Helper()
	r, err := regexp.Compile(strings.TrimPrefix(Chosen(), "/"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Build compiles the attacks into dir with a gcc, as many at once as there are
// CPUs, and returns the programs by the attacks' names. What is built already
// is not built again, and what was shipped lies next to its source. One that
// cannot be built is an error of the test and has no program.
func Build(t testing.TB, gcc, dir string, all []Attack) map[string]string {
	t.Helper()
	var (
		mu       sync.Mutex // guards programs
		programs = map[string]string{}
		building sync.WaitGroup
		turns    = make(chan struct{}, runtime.NumCPU())
	)
	for _, a := range all {
		building.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			path, err := a.build(gcc, dir)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			programs[a.Name] = path
		})
	}
	building.Wait()
	return programs
}

func (a Attack) build(gcc, dir string) (string, error) {
	if a.Language != "" {
		return a.Source, nil
	}
	shipped := strings.TrimSuffix(a.Source, ".c")
	if _, err := os.Stat(shipped); err == nil {
		return shipped, nil
	}
	// A second attack may be made of the same source some day, and one of
	// the same name for two processors is today.
	args := append(a.flags(), a.Source, "-lm")
	sum := sha256.Sum256([]byte(strings.Join(append(args, gcc), "\x00")))
	out := filepath.Join(dir, fmt.Sprintf("%s-%x", a.Name, sum[:4]))
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	if text, err := exec.Command(gcc, append([]string{"-o", out}, args...)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile attack %q: %w\n%s", a.Name, err, bytes.TrimSpace(text))
	}
	return out, nil
}

// flags leave no warning out: what a compiler doubts in an attack may be why it
// fails.
func (a Attack) flags() []string {
	flags := append([]string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"}, a.CC...)
	if !a.Dynamic {
		flags = append(flags, "-static")
	}
	return flags
}
