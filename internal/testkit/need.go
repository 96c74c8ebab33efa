package testkit

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// RequireEnv names the environment variable that turns missing needs from a
// skip into a failure. Its value is a comma separated list of Requirement
// names, or "all".
const RequireEnv = "JUDGED_TEST_REQUIRE"

// Requirement is something a test needs from the machine. Its text is the name
// used in RequireEnv.
type Requirement string

const (
	Time        Requirement = "time"         // many seconds: always there, but not with -short
	Root        Requirement = "root"         // effective user 0
	Cgroup      Requirement = "cgroup"       // a cgroup with the memory controller can be made, whatever the version
	CgroupV1    Requirement = "cgroup-v1"    // the same, and memory is a v1 hierarchy (hybrid hosts too)
	CgroupV2    Requirement = "cgroup-v2"    // the same, and memory is a controller of the v2 tree
	GCC         Requirement = "gcc"          // a C compiler that builds
	StaticGCC   Requirement = "static-gcc"   // the same with -static, which needs the static C library
	Python      Requirement = "python"       // python3 starts, from where a sandbox looks for programs
	Java        Requirement = "java"         // so does java, and javac and jar are there
	Node        Requirement = "node"         // so does node
	Mono        Requirement = "mono"         // so does mono, and mcs is there
	Rust        Requirement = "rust"         // rustc starts
	Go          Requirement = "go"           // so does go, from where a sandbox looks for it
	QEMU        Requirement = "qemu"         // qemu-system-x86_64
	GuestKernel Requirement = "guest-kernel" // a kernel for it, as fetched by .ci/setup
	Promtool    Requirement = "promtool"     // promtool of Prometheus
	Chromium    Requirement = "chromium"     // chromium, for pages
	Postgres    Requirement = "postgres"     // the programs of a PostgreSQL server, see PostgresPrograms
	S3          Requirement = "s3"           // versitygw, a server with the interface of S3
	Ext4        Requirement = "ext4"         // mkfs.ext4, and loop devices to mount what it makes
	Generators  Requirement = "generators"   // generators of HTTP clients, as fetched by .ci/setup
	// ProblemTools are verifyproblem and bt, as fetched by .ci/setup.
	ProblemTools Requirement = "problemtools"
	// Kubernetes is kubernetes-validate with the schemas of its API, as fetched by .ci/setup.
	Kubernetes Requirement = "kubernetes"

	GCCArm64         Requirement = "gcc-arm64"          // a cross compiler with a static C library
	QEMUArm64        Requirement = "qemu-arm64"         // qemu-system-aarch64
	GuestKernelArm64 Requirement = "guest-kernel-arm64" // a kernel for it, as fetched by .ci/setup
)

// Need skips the test when the machine lacks one of needs, saying which and
// why. It fails the test instead when RequireEnv asks for the missing one.
//
// With -short every test that needs anything is skipped: what is left takes seconds
// and no privileges.
//
// "all" asks for everything except CgroupV1 and CgroupV2: a host has its
// controllers in one or the other, so these two count only when named.
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

// Has reports whether the machine offers everything in needs. It is for
// helpers that choose between two ways; tests call Need.
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

// lacks returns nil when the machine offers n, and otherwise why it does not
// with the next step.
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
	case Promtool:
		return onPath("promtool", "install the package prometheus")
	case ProblemTools:
		_, err := ProblemToolsPath()
		return err
	case Kubernetes:
		_, err := KubernetesPath()
		return err
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
