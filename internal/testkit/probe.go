package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"judged/internal/host/hostfs"
)

// The results do not change while a test binary runs, and take up to a few hundred milliseconds each.
var (
	gccWorks       = sync.OnceValue(func() error { return tryCompiler(hostGCC, false) })
	staticGCCWorks = sync.OnceValue(func() error { return tryCompiler(hostGCC, true) })
	arm64GCCWorks  = sync.OnceValue(func() error { return tryCompiler(GCCForArm64, true) })
	pythonWorks    = sync.OnceValue(func() error {
		return starts("install the package python3", "/usr/bin/python3", "-c", "pass")
	})
	pyctdWorks = sync.OnceValue(func() error {
		return starts("run .ci/setup as root", "/usr/local/bin/pyctd", "--version")
	})
	javaWorks = sync.OnceValue(tryJava)
	nodeWorks = sync.OnceValue(func() error {
		return starts("install the package nodejs", "/usr/bin/node", "--version")
	})
	monoWorks = sync.OnceValue(tryMono)
	rustWorks = sync.OnceValue(func() error { return starts("install the package rustc", "rustc", "--version") })
	goWorks   = sync.OnceValue(func() error {
		return starts("install Go in /usr/local/go", "/usr/bin/env", "PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin",
			"GOTOOLCHAIN=local", "go", "version")
	})
	cgroupWritable = sync.OnceValue(tryCgroup)
)

// GuestKernelPath returns the kernel image that .ci/setup has fetched for guests of an architecture, amd64 or
// arm64. The environment variables JUDGED_TEST_KERNEL and JUDGED_TEST_KERNEL_ARM64 override it.
func GuestKernelPath(arch string) (string, error) {
	variable, name := "JUDGED_TEST_KERNEL", "vmlinuz"
	if arch == "arm64" {
		variable, name = "JUDGED_TEST_KERNEL_ARM64", "vmlinuz-arm64"
	}
	path := os.Getenv(variable)
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the user's cache folder: %w; set %s", err, variable)
		}
		path = filepath.Join(cache, "judged-test", name)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find a guest kernel: %w; run .ci/setup", err)
	}
	return path, nil
}

// PostgresPrograms returns the folder with initdb, postgres and psql of the newest PostgreSQL version. Debian
// does not install them in PATH.
func PostgresPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", fmt.Errorf("find PostgreSQL: %w", err)
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			found = append(found, filepath.Dir(path))
		}
	}
	for _, dir := range slices.Backward(found) {
		complete := true
		for _, program := range []string{"initdb", "postgres", "psql"} {
			_, err := os.Stat(filepath.Join(dir, program))
			complete = complete && err == nil
		}
		if complete {
			return dir, nil
		}
	}
	return "", fmt.Errorf("find initdb, postgres and psql in one folder of /usr/lib/postgresql; install the package " +
		"postgresql")
}

// languagePrograms are the programs of the languages that .ci/setup installs. Not among them are those that are large:
// Scala, Kotlin, R, Octave, Haskell, OCaml, D and Clang.
var languagePrograms = strings.Fields("g++ gfortran gnatmake cobc nasm mcs fpc sbcl swipl erlc elixir javac clojure tsc " +
	"perl php ruby lua luac gawk mawk sqlite3 pypy3 rustc")

func languagesWork() error {
	for _, program := range languagePrograms {
		if err := onPath(program, "run .ci/setup as root"); err != nil {
			return err
		}
	}
	return nil
}

// GeneratorsPath returns the folder with the generators of HTTP clients that
// .ci/setup has fetched, one folder for each language.
func GeneratorsPath() (string, error) { return fetched("clients", "generators of HTTP clients") }

// ProblemToolsPath returns the virtual environment with Kattis' problemtools and BAPCtools that .ci/setup has fetched.
func ProblemToolsPath() (string, error) { return fetched("problemtools", "tools for problem packages") }

// Judge0ClientPath returns the virtual environment with the Python client of Judge0 that .ci/setup has fetched.
func Judge0ClientPath() (string, error) { return fetched("judge0", "the Python client of Judge0") }

// KubernetesPath returns the virtual environment with kubernetes-validate that .ci/setup has fetched.
func KubernetesPath() (string, error) { return fetched("kubernetes", "schemas of Kubernetes") }

// AxePath returns the script of axe-core that .ci/setup has fetched.
func AxePath() (string, error) {
	folder, err := fetched("axe", "axe-core")
	return filepath.Join(folder, "node_modules", "axe-core", "axe.min.js"), err
}

// DebianRootPath returns the archive of a minimal Debian that .ci/setup has fetched.
func DebianRootPath() (string, error) {
	folder, err := fetched("debian", "the root of a minimal Debian")
	return filepath.Join(folder, "root.tar"), err
}

// fetched returns a folder that .ci/setup has filled.
func fetched(folder, what string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w", err)
	}
	path := filepath.Join(cache, "judged-test", folder)
	if _, err := os.Stat(filepath.Join(path, "complete")); err != nil {
		return "", fmt.Errorf("find %s: %w; run .ci/setup", what, err)
	}
	return path, nil
}

func onPath(name, remedy string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("%w; %s", err, remedy)
	}
	return nil
}

func tryCompiler(compiler string, static bool) error {
	dir, err := os.MkdirTemp("", "judged-testkit-")
	if err != nil {
		return fmt.Errorf("make a folder for a test compilation: %w", err)
	}
	defer os.RemoveAll(dir)
	src := filepath.Join(dir, "test.c")
	if err := os.WriteFile(src, []byte("#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n"),
		0o644); err != nil {
		return fmt.Errorf("write a test program: %w", err)
	}
	return compileC(compiler, src, filepath.Join(dir, "test"), static)
}

// starts runs a program that exits at once. PATH may contain a version manager's shim without a program, or
// with one in a home folder, which sandboxes do not show. Programs for sandboxes are therefore given by their
// path.
func starts(remedy, name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("start %s: %w %s; %s", name, err, bytes.TrimSpace(out), remedy)
	}
	return nil
}

func tryJava() error {
	const remedy = "install the package default-jdk-headless"
	return errors.Join(starts(remedy, "/usr/bin/java", "-version"), onPath("javac", remedy), onPath("jar", remedy))
}

func tryMono() error {
	const remedy = "install the packages mono-runtime and mono-mcs"
	return errors.Join(starts(remedy, "/usr/bin/mono", "--version"), onPath("mcs", remedy))
}

type cgroupVersion int

const (
	anyVersion cgroupVersion = iota
	onlyV1
	onlyV2
)

func cgroupUsable(version cgroupVersion) error {
	_, isV2, err := memoryHierarchy()
	switch {
	case err != nil:
		return err
	case version == onlyV1 && isV2:
		return fmt.Errorf("memory is a controller of cgroup v2 here; use a host with v1 or hybrid cgroups")
	case version == onlyV2 && !isV2:
		return fmt.Errorf("memory is a v1 hierarchy here; use a host with unified cgroups or a guest")
	}
	return cgroupWritable()
}

// tryCgroup creates and removes a cgroup, because a mounted hierarchy may be read-only, as in most containers.
func tryCgroup() error {
	parent, _, err := memoryHierarchy()
	if err != nil {
		return err
	}
	group := filepath.Join(parent, fmt.Sprintf("judged-%d-need", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		return fmt.Errorf("make a cgroup: %w; run as root with a writable hierarchy", err)
	}
	if err := os.Remove(group); err != nil {
		return fmt.Errorf("remove the test cgroup: %w", err)
	}
	return nil
}

// memoryHierarchy returns the mount point of the hierarchy with the memory controller. A hybrid host also
// mounts a v2 hierarchy, without controllers, and counts as v1.
func memoryHierarchy() (dir string, isV2 bool, err error) {
	all, err := mounts("/proc/self")
	if err != nil {
		return "", false, err
	}
	for _, m := range all {
		if m.FSType == "cgroup" && m.Has("memory") {
			return m.Point, false, nil
		}
	}
	for _, m := range all {
		if m.FSType != "cgroup2" {
			continue
		}
		controllers, err := os.ReadFile(filepath.Join(m.Point, "cgroup.controllers"))
		if err == nil && slices.Contains(strings.Fields(string(controllers)), "memory") {
			return m.Point, true, nil
		}
	}
	return "", false, fmt.Errorf("find the memory controller: no cgroup hierarchy in /proc/self/mountinfo carries it; " +
		"mount cgroup2 on /sys/fs/cgroup")
}

// mounts reads the mountinfo of a process.
func mounts(dir string) ([]hostfs.Mount, error) {
	text, err := os.ReadFile(dir + "/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	return hostfs.MountInfo(string(text))
}
