package guest

import (
	"fmt"
	"os"
	"os/exec"

	"judged/internal/testkit"
)

// machine holds what differs between the architectures of guests.
type machine struct {
	qemu    string                              // the emulator's name
	needs   []testkit.Requirement               // the emulator and a kernel for it
	board   string                              // QEMU's -machine
	accel   string                              // QEMU's -accel
	model   func(threads int) string            // QEMU's -cpu
	console string                              // the kernel's name for the first serial port
	ports   func(first, second string) []string // QEMU's arguments for two serial ports into files
	goEnv   []string                            // environment of go build besides GOARCH
}

var machines = map[string]machine{
	"amd64": {
		qemu:  "qemu-system-x86_64",
		needs: []testkit.Requirement{testkit.QEMU, testkit.GuestKernel},
		board: "pc",
		// One host thread runs all CPUs in turn. With one thread for each CPU, QEMU 7.2 can translate code while another
		// CPU patches it, and keep the outdated translation permanently. After the kernel has switched a static key,
		// each CPU that reaches the removed breakpoint then raises it again and again, with interrupts off, until the
		// machine hangs. With some guests this happened every other time.
		accel: "tcg,thread=single",
		// Without cx16, because QEMU 7.2 computes the flags of cmpxchg16b wrongly and the slab allocator of
		// Linux 6.12 relies on them: it oopses on boot. max hides SMT.
		model: func(threads int) string {
			if threads > 1 {
				return "Skylake-Server,-cx16"
			}
			return "max,-cx16"
		},
		console: "ttyS0",
		ports: func(first, second string) []string {
			return []string{"-serial", "file:" + first, "-serial", "file:" + second}
		},
		// The guest's CPU differs from the host's.
		goEnv: []string{"GOAMD64=v1"},
	},
	"arm64": {
		qemu:  "qemu-system-aarch64",
		needs: []testkit.Requirement{testkit.QEMUArm64, testkit.GuestKernelArm64},
		board: "virt,gic-version=3",
		// The kernel switches static keys without breakpoints here. If CPUs ran in turn, one that computes without a tick
		// would have 100 ms of each turn, and one that computes with ticks would lose its turn at each: judged needed 20 s
		// to read the clocks of a program that spins on a nohz_full CPU, and then kill it.
		accel: "tcg,thread=multi",
		// max uses QARMA for pointer authentication by default, which takes half of the emulation's time.
		model:   func(int) string { return "max,pauth-impdef=on" },
		console: "ttyAMA0",
		// The board's second port belongs to the secure world.
		ports: func(first, second string) []string {
			return []string{"-serial", "file:" + first, "-chardev", "file,id=results,path=" + second, "-device",
				"pci-serial,chardev=results"}
		},
		goEnv: []string{"GOARM64=v8.0"},
	},
}

// assets returns the kernel image and the emulator that .ci/setup has installed on this machine. It fetches
// nothing.
func assets(arch string) (kernel, qemu string, err error) {
	qemu, err = exec.LookPath(machines[arch].qemu)
	if err != nil {
		return "", "", fmt.Errorf("find the emulator: %w; run .ci/setup as root", err)
	}
	kernel, err = testkit.GuestKernelPath(arch)
	return kernel, qemu, err
}

// goEnvironment returns the environment of a go command that builds for the guest.
func goEnvironment(arch string) []string {
	return append(append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch), machines[arch].goEnv...)
}
