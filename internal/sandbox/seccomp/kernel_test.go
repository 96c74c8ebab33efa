package seccomp

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
	"judged/internal/testkit/guest"
)

// confineEnv makes the test binary load the default filter and execute its arguments. This needs no root.
const confineEnv = "JUDGED_SECCOMP_TEST_CONFINE"

func TestMain(m *testing.M) {
	if os.Getenv(confineEnv) != "" {
		fmt.Fprintln(os.Stderr, "confine:", confine(os.Args[1:]))
		os.Exit(254)
	}
	os.Exit(testkit.Run(m))
}

// confine returns only if it cannot execute the program.
func confine(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	// The filter applies to this thread only; execve ends the others.
	runtime.LockOSThread()
	if err := load(); err != nil {
		return err
	}
	return syscall.Exec(path, argv, os.Environ())
}

func load() error {
	arch, err := NativeArch()
	if err != nil {
		return err
	}
	filter, err := Build(arch, Default())
	if err != nil {
		return err
	}
	return install(arch, filter)
}

func install(arch Arch, filter Filter) error {
	const setNoNewPrivs, setModeFilter = 38, 1
	program := struct {
		length uint16
		filter *Instruction
	}{uint16(len(filter)), &filter[0]}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0); errno != 0 {
		return fmt.Errorf("set no_new_privs: %w", errno)
	}
	nr, _ := arch.Number("seccomp")
	if _, _, errno := syscall.RawSyscall(uintptr(nr), setModeFilter, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("load filter of %d instructions: %w", len(filter), errno)
	}
	return nil
}

type result struct {
	Exit   int // -1 if a signal ended it
	Signal syscall.Signal
	Out    string
}

func runConfined(t *testing.T, argv ...string) result {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self, argv...)
	cmd.Env = append(os.Environ(), confineEnv+"=1")
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("run %q: %v", argv, err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	res := result{Exit: status.ExitStatus(), Out: out.String()}
	if status.Signaled() {
		res.Signal = status.Signal()
	}
	return res
}

// probeProgram returns the program that makes the calls. In a guest, which has no compiler, it is next to its
// source.
func probeProgram(t *testing.T) string {
	const built = "testdata/probe"
	if _, err := os.Stat(built); err == nil {
		return built
	}
	return testkit.CompileC(t, "testdata/probe.c", true)
}

// TestInGuest runs the tests with a kernel other than the host's.
func TestInGuest(t *testing.T) {
	t.Parallel() // an emulator uses only one CPU
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.StaticGCC)
	askGuest(t, "amd64", testkit.CompileC(t, "testdata/probe.c", true))
}

// TestInArm64Guest runs the tests with an arm64 kernel.
func TestInArm64Guest(t *testing.T) {
	t.Parallel()
	testkit.Need(t, testkit.QEMUArm64, testkit.GuestKernelArm64, testkit.GCCArm64)
	askGuest(t, "arm64", testkit.CompileArm64(t, "testdata/probe.c"))
}

func askGuest(t *testing.T, arch, probe string) {
	t.Helper()
	guest.GoTest(t, guest.Config{
		Arch: arch, Files: map[string]string{"/repo/internal/sandbox/seccomp/testdata/probe": probe},
	}, "judged/internal/sandbox/seccomp", "^(TestKernelAppliesTheFilter|TestForeignProgram)$")
}

// TestKernelAppliesTheFilter: the errors and signals in this test come from the kernel, not from the
// interpreter.
func TestKernelAppliesTheFilter(t *testing.T) {
	probe := probeProgram(t)
	const sigchld = uint64(syscall.SIGCHLD)
	dies := result{Exit: -1, Signal: syscall.SIGSYS}
	exits := func(e syscall.Errno) result { return result{Exit: int(e)} }
	tests := []struct {
		name string
		call string
		args []uint64
		want result
	}{
		{"unshare user", "unshare", []uint64{cloneNewUser}, dies},
		{"clone user", "clone", []uint64{cloneNewUser | sigchld}, dies},
		{"clone pid, upper half set", "clone", []uint64{1<<32 | cloneNewPID | sigchld}, dies},
		{"clone3", "clone3", nil, exits(syscall.ENOSYS)},
		{"ptrace", "ptrace", nil, dies},
		{"keyctl", "keyctl", nil, dies},
		{"mount", "mount", nil, dies},
		{"userfaultfd", "userfaultfd", []uint64{1}, dies},
		{"inet socket", "socket", []uint64{syscall.AF_INET, syscall.SOCK_STREAM}, exits(syscall.EPERM)},
		{"vsock socket", "socket", []uint64{40, syscall.SOCK_STREAM}, exits(syscall.EPERM)},
		{"inet socketpair", "socketpair", []uint64{syscall.AF_INET, syscall.SOCK_STREAM}, exits(syscall.EPERM)},
		{"unix socketpair without memory", "socketpair", []uint64{syscall.AF_UNIX, syscall.SOCK_STREAM},
			exits(syscall.EFAULT)},
		{"F_SETLK", "fcntl", []uint64{1, 6}, exits(syscall.EPERM)},
		{"close on exec", "fcntl", []uint64{1, setFD, 1}, exits(0)},
		{"terminal input", "ioctl", []uint64{1, 0x5412}, exits(syscall.ENOTTY)},
		{"readable is executable", "personality", []uint64{0x0400000}, exits(syscall.EPERM)},
		{"huge pages on", "prctl", []uint64{41, 0}, exits(syscall.EPERM)},
		{"idle policy", "sched_setscheduler", []uint64{0, 5}, exits(syscall.EPERM)},
		{"advice", "fadvise64", []uint64{99, 0, 0, 4}, exits(0)},
		{"sync", "sync", nil, exits(0)},
		{"own pid", "getpid", nil, exits(0)},
	}
	arch, err := NativeArch()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nr, ok := arch.Number(tt.call)
			if !ok {
				t.Fatalf("%s has no %s", arch, tt.call)
			}
			got := runConfined(t, probeCall(probe, nr, tt.args)...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("unassigned number", func(t *testing.T) {
		if diff := cmp.Diff(exits(syscall.ENOSYS), runConfined(t, probeCall(probe, 1000, nil)...)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	if arch == AMD64 {
		t.Run("int 0x80", func(t *testing.T) {
			if diff := cmp.Diff(dies, runConfined(t, probe, "int80", "20")); diff != "" { // 20 is getpid
				t.Errorf("-want +got:\n%s", diff)
			}
		})
		t.Run("x32", func(t *testing.T) {
			if diff := cmp.Diff(dies, runConfined(t, probeCall(probe, x32Bit|39, nil)...)); diff != "" { // 39 is getpid
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func probeCall(probe string, nr uint32, args []uint64) []string {
	argv := []string{probe, "call", strconv.FormatUint(uint64(nr), 10)}
	for _, a := range args {
		argv = append(argv, strconv.FormatUint(a, 10))
	}
	return argv
}

func TestCProgramsRun(t *testing.T) {
	for _, static := range []bool{true, false} {
		t.Run(fmt.Sprintf("static=%t", static), func(t *testing.T) {
			probe := testkit.CompileC(t, "testdata/probe.c", static)
			if diff := cmp.Diff(result{Out: "86 child\n"}, runConfined(t, probe, "work")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestPythonRuns: each program uses a feature of Python that fails without a certain group of the policy.
func TestPythonRuns(t *testing.T) {
	testkit.Need(t, testkit.Python)
	tests := []struct{ name, program string }{
		{"print", `print("ok")`},
		{"thread", `
import threading
t = threading.Thread(target=print, args=("ok",)); t.start(); t.join()`},
		{"subprocess", `
import subprocess
subprocess.run(["echo", "ok"], check=True)`},
		{"fork and pipe", `
import multiprocessing as m
a, b = m.get_context("fork").Pipe()
p = m.get_context("fork").Process(target=b.send, args=("ok",)); p.start(); print(a.recv()); p.join()`},
		{"asyncio", `
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("echo", "ok", stdout=asyncio.subprocess.PIPE)
    print((await p.stdout.read()).decode().strip()); await p.wait()
asyncio.run(main())`},
		{"copy", `
import shutil, tempfile, os
d = tempfile.mkdtemp(); open(d + "/a", "w").write("ok")
shutil.copy2(d + "/a", d + "/b"); print(open(d + "/b").read()); shutil.rmtree(d)`},
		{"no network", `
import socket
try: socket.socket()
except PermissionError: print("ok")`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runConfined(t, "python3", "-c", strings.TrimPrefix(tt.program, "\n"))
			if diff := cmp.Diff(result{Out: "ok\n"}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestGoRuns: the test binary is a Go program with several threads and a garbage collector.
func TestGoRuns(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// "env -u" because the confined binary would confine itself again.
	got := runConfined(t, "env", "-u", confineEnv, self, "-test.run=^TestFilterMatchesPolicy$/default", "-test.count=1")
	if got.Exit != 0 || got.Signal != 0 {
		t.Errorf("got %+v, want exit 0", got)
	}
}
