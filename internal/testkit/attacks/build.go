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
	"slices"
	"strings"
	"sync"
	"testing"

	"judged/internal/testkit"
)

// Load returns the attacks that can be run on a machine of a GOARCH and are selected by go test -run, and the
// number of attacks for other architectures. A guest has neither a compiler nor libraries, so it gets compiled
// programs.
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

// Folder returns the folder with the attacks.
func Folder(t testing.TB) string {
	t.Helper()
	return filepath.Join(testkit.RepoRoot(t), "testdata", "attacks")
}

// Paths in a guest of the files from Ship.
const (
	guestFolder = "/repo/testdata/attacks"
	guestJury   = "/repo/testdata/jury/"
)

// InGuest reports whether this is a guest with the files from Ship.
func InGuest(t testing.TB) bool { return Folder(t) == guestFolder }

// forGuests excludes attacks that need a real processor or precise timing. Open attacks are excluded because
// they may succeed anyway.
func (a Attack) forGuests() bool { return !a.Native && !a.Open && a.Language == "" }

// loaders maps a GOARCH to the path of the dynamic loader.
var loaders = map[string]string{"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}

// Ship returns the files that a guest of a GOARCH needs to run the attacks, by their path there: the data, each
// program next to its source, and the required libraries.
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

// library returns the path of a library that gcc uses.
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

// Chosen returns the part of go test -run that selects attacks, with the slash before it, or "". It avoids
// building 130 programs to run one.
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

// Build compiles the attacks into dir with gcc, in parallel on all CPUs, and returns the programs by the
// attacks' names. It does not rebuild existing programs, and finds shipped programs next to their sources. An
// attack that cannot be built is a test error and has no program.
func Build(t testing.TB, gcc, dir string, all []Attack) map[string]string {
	t.Helper()
	var mu sync.Mutex // guards programs
	programs := map[string]string{}
	testkit.OnAllCPUs(len(all), func(i int) {
		path, err := all[i].build(gcc, dir)
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		programs[all[i].Name] = path
	})
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
	// The name includes everything that distinguishes programs: two attacks can share a source, and attacks for
	// two processors can share a name.
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

// flags suppresses no warnings, because they can explain why an attack fails.
func (a Attack) flags() []string {
	flags := append([]string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"}, a.CC...)
	if !a.Dynamic {
		flags = append(flags, "-static")
	}
	return flags
}
