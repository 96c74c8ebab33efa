package testkit

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// RequireEnv is the environment variable that makes a test fail instead of skip if something is missing. Its
// value is a comma-separated list of Requirement names, or "all".
const RequireEnv = "JUDGED_TEST_REQUIRE"

// Requirement is something a test needs from the machine. Its text is the name
// used in RequireEnv.
type Requirement string

const (
	Time        Requirement = "time"         // many seconds: always available, except with -short
	Root        Requirement = "root"         // effective user 0
	Cgroup      Requirement = "cgroup"       // a cgroup with the memory controller can be created, in any version
	CgroupV1    Requirement = "cgroup-v1"    // like cgroup, with memory in a v1 hierarchy (also on hybrid hosts)
	CgroupV2    Requirement = "cgroup-v2"    // like cgroup, with memory in the v2 hierarchy
	GCC         Requirement = "gcc"          // a working C compiler
	StaticGCC   Requirement = "static-gcc"   // like gcc, with -static, which needs the static C library
	Python      Requirement = "python"       // python3 in the search path of sandboxes
	Java        Requirement = "java"         // java likewise, with javac and jar
	Node        Requirement = "node"         // node likewise
	Mono        Requirement = "mono"         // mono likewise, with mcs
	Rust        Requirement = "rust"         // rustc
	Go          Requirement = "go"           // go in the search path of sandboxes
	Languages   Requirement = "languages"    // the smaller ones of those that Debian packages, see languagePrograms
	QEMU        Requirement = "qemu"         // qemu-system-x86_64
	GuestKernel Requirement = "guest-kernel" // a kernel for it, as fetched by .ci/setup
	Promtool    Requirement = "promtool"     // promtool of Prometheus
	Prometheus  Requirement = "prometheus"   // the server of Prometheus
	Chromium    Requirement = "chromium"     // chromium, for pages
	Postgres    Requirement = "postgres"     // the programs of a PostgreSQL server, see PostgresPrograms
	S3          Requirement = "s3"           // versitygw, an S3-compatible server
	Ext4        Requirement = "ext4"         // mkfs.ext4, and loop devices to mount its file systems
	Fuse        Requirement = "fuse"         // /dev/fuse, to mount file systems that tests serve
	Generators  Requirement = "generators"   // generators of HTTP clients, as fetched by .ci/setup
	// ProblemTools are verifyproblem and bt, as fetched by .ci/setup.
	ProblemTools Requirement = "problemtools"
	// Pyctd is pyctd in the search path of sandboxes, as installed by .ci/setup.
	Pyctd Requirement = "pyctd"
	// Judge0Client is the Python client of Judge0, as fetched by .ci/setup.
	Judge0Client Requirement = "judge0"
	// Kubernetes is kubernetes-validate with the schemas of its API, as fetched by .ci/setup.
	Kubernetes Requirement = "kubernetes"
	// Compose is the reference parser of Compose files, as fetched by .ci/setup.
	Compose Requirement = "compose"
	// Axe is axe-core, as fetched by .ci/setup.
	Axe Requirement = "axe"
	// Debian stands for the tools that build, check and install a Debian package: dpkg, lintian, and a root as fetched
	// by .ci/setup.
	Debian Requirement = "debian"

	GCCArm64         Requirement = "gcc-arm64"          // a cross compiler with a static C library
	QEMUArm64        Requirement = "qemu-arm64"         // qemu-system-aarch64
	GuestKernelArm64 Requirement = "guest-kernel-arm64" // a kernel for it, as fetched by .ci/setup
)

// Need skips the test if the machine lacks one of needs, and logs which one and why. If RequireEnv contains the
// missing one, it fails the test instead.
//
// With -short, all tests that call Need are skipped; the others take seconds and need no privileges.
//
// "all" includes everything except CgroupV1 and CgroupV2: the controllers of a host are in one or the other, so
// these two must be named explicitly.
func Need(t testing.TB, needs ...Requirement) {
	t.Helper()
	if testing.Short() && len(needs) > 0 {
		t.Skipf("need %s: left out by -short", needs[0])
	}
	for _, n := range needs {
		err := lacks(n)
		if err == nil {
			continue
		}
		if required(n, os.Getenv(RequireEnv)) {
			t.Fatalf("need %s: %v (%s=%q does not let it be skipped)", n, err, RequireEnv, os.Getenv(RequireEnv))
		}
		t.Skipf("need %s: %v", n, err)
	}
}

// Has reports whether the machine provides all of needs. It is for helpers that choose between two ways; tests
// call Need.
func Has(needs ...Requirement) bool {
	return !slices.ContainsFunc(needs, func(n Requirement) bool { return lacks(n) != nil })
}

func required(n Requirement, list string) bool {
	for _, asked := range strings.Split(list, ",") {
		switch asked = strings.TrimSpace(asked); {
		case asked == string(n):
			return true
		case asked == "all" && n != CgroupV1 && n != CgroupV2:
			return true
		}
	}
	return false
}

// lacks returns nil if the machine provides n, otherwise an error with the reason and the next step.
func lacks(n Requirement) error {
	switch n {
	case Time:
		return nil
	case Root:
		if uid := os.Geteuid(); uid != 0 {
			return fmt.Errorf("effective user is %d; run the tests as root", uid)
		}
		return nil
	case Cgroup:
		return cgroupUsable(anyVersion)
	case CgroupV1:
		return cgroupUsable(onlyV1)
	case CgroupV2:
		return cgroupUsable(onlyV2)
	case GCC:
		return gccWorks()
	case StaticGCC:
		return staticGCCWorks()
	case Python:
		return pythonWorks()
	case Java:
		return javaWorks()
	case Node:
		return nodeWorks()
	case Mono:
		return monoWorks()
	case Rust:
		return rustWorks()
	case Go:
		return goWorks()
	case Languages:
		return languagesWork()
	case QEMU:
		return onPath("qemu-system-x86_64", "run .ci/setup as root")
	case GuestKernel:
		_, err := GuestKernelPath("amd64")
		return err
	case GCCArm64:
		return arm64GCCWorks()
	case QEMUArm64:
		return onPath("qemu-system-aarch64", "run .ci/setup as root")
	case GuestKernelArm64:
		_, err := GuestKernelPath("arm64")
		return err
	case Fuse:
		f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("%w; load the module fuse, and run the tests as root", err)
		}
		return f.Close()
	case Promtool:
		return onPath("promtool", "install the package prometheus")
	case Prometheus:
		return onPath("prometheus", "run .ci/setup")
	case ProblemTools:
		_, err := ProblemToolsPath()
		return err
	case Pyctd:
		return pyctdWorks()
	case Judge0Client:
		_, err := Judge0ClientPath()
		return err
	case Kubernetes:
		_, err := KubernetesPath()
		return err
	case Compose:
		return onPath("compose-check", "run .ci/setup")
	case Axe:
		_, err := AxePath()
		return err
	case Debian:
		if _, err := DebianRootPath(); err != nil {
			return err
		}
		return onPath("lintian", "install the package lintian")
	case S3:
		return onPath("versitygw", "run .ci/setup")
	case Generators:
		_, err := GeneratorsPath()
		return err
	case Chromium:
		return onPath("chromium", "install the package chromium")
	case Ext4:
		if _, err := os.Stat("/dev/loop-control"); err != nil {
			return fmt.Errorf("no loop devices: %w; run modprobe loop", err)
		}
		return onPath("mkfs.ext4", "install the package e2fsprogs")
	case Postgres:
		_, err := PostgresPrograms()
		return err
	}
	return fmt.Errorf("unknown requirement %q; use the constants of package testkit", string(n))
}
