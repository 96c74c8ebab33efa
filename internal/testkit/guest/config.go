package guest

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"time"
)

// Config describes a guest. The zero value with Commands is a machine with four single-threaded cores in two
// sockets, one NUMA node and 2 GiB.
type Config struct {
	Arch string // its GOARCH: amd64 (also "") or arm64

	// Append is appended to the kernel command line, for example "isolcpus=2,3 nohz_full=2,3".
	Append string

	Sockets, Cores, Threads int    // cores per socket, threads per core; 0,0,0 means 2,2,1
	Model                   string // QEMU's -cpu; "" means one that works with the other settings
	NUMA                    bool   // one node per socket, with an equal share of CPUs and memory
	MemoryMiB               int    // 0 means 2048; includes the guest's files
	Disks                   int    // empty ones of DiskBytes: /dev/nvme0n1, /dev/nvme0n2 and so on

	Files map[string]string // guest path -> host file; mode bits are kept
	Dirs  map[string]string // guest path -> host folder with its content

	Commands []Command

	// Timeout limits one start of the guest in wall time; 0 means 20 minutes. After it the machine is switched
	// off and the results so far are kept. It need not be short, because a guest that hangs is detected
	// earlier.
	Timeout time.Duration
}

// DiskBytes is the size of each disk of a guest.
const DiskBytes = 16 << 20

// Result is the result of a command.
type Result struct {
	Stdout, Stderr string // byte for byte
	ExitCode       int    // -1 if it was killed or not started
	Signal         string // name of the signal that killed it
	Failure        string // why it was not started, or that it timed out
	Over           bool   // it ended before the guest did
}

func (c Config) withDefaults() Config {
	if c.Sockets == 0 && c.Cores == 0 && c.Threads == 0 {
		c.Sockets, c.Cores, c.Threads = 2, 2, 1
	}
	c.Sockets, c.Cores, c.Threads = max(c.Sockets, 1), max(c.Cores, 1), max(c.Threads, 1)
	c.Arch = cmp.Or(c.Arch, "amd64")
	if m, known := machines[c.Arch]; known && c.Model == "" {
		c.Model = m.model(c.Threads)
	}
	c.MemoryMiB = cmp.Or(c.MemoryMiB, 2048)
	c.Timeout = cmp.Or(c.Timeout, 20*time.Minute)
	return c
}

func (c Config) validate() error {
	if len(c.Commands) == 0 {
		return fmt.Errorf("check guest: it has no commands")
	}
	if _, known := machines[c.Arch]; !known {
		return fmt.Errorf("check guest: no machine for architecture %q; use amd64 or arm64", c.Arch)
	}
	var names []string
	for _, cmd := range c.Commands {
		switch {
		case cmd.Name == "" || slices.Contains(names, cmd.Name):
			return fmt.Errorf("check guest: command name %q is empty or used twice", cmd.Name)
		case len(cmd.Args) == 0 || !path.IsAbs(cmd.Args[0]):
			return fmt.Errorf("check guest: command %q has no program with an absolute path: %q", cmd.Name, cmd.Args)
		}
		names = append(names, cmd.Name)
	}
	return nil
}

// args returns QEMU's command line without the program.
func (c Config) args(kernel, initrd, console, results string) []string {
	m := machines[c.Arch]
	args := []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-machine", m.board, "-accel", m.accel, "-cpu", c.Model,
		"-smp", fmt.Sprintf("%d,sockets=%d,cores=%d,threads=%d", c.Sockets*c.Cores*c.Threads, c.Sockets, c.Cores,
			c.Threads),
		"-m", fmt.Sprintf("%dM", c.MemoryMiB),
		"-kernel", kernel, "-initrd", initrd,
		"-append", c.kernelLine(m.console),
	}
	args = append(args, m.ports(console, results)...)
	if !c.NUMA {
		return args
	}
	perNode := c.Cores * c.Threads
	for n := range c.Sockets {
		args = append(args,
			"-object", fmt.Sprintf("memory-backend-ram,id=m%d,size=%dM", n, c.MemoryMiB/c.Sockets),
			"-numa", fmt.Sprintf("node,nodeid=%d,cpus=%d-%d,memdev=m%d", n, n*perNode, (n+1)*perNode-1, n))
	}
	return args
}

// diskArgs returns QEMU's arguments for disks. They use NVMe, the only disk driver that is built into Debian's
// cloud kernels.
func diskArgs(files []string) []string {
	if len(files) == 0 {
		return nil
	}
	args := []string{"-device", "nvme,id=disks,serial=disks"}
	for i, file := range files {
		args = append(args,
			"-drive", fmt.Sprintf("if=none,id=disk%d,format=raw,cache=unsafe,file=%s", i, file),
			"-device", fmt.Sprintf("nvme-ns,bus=disks,drive=disk%d,nsid=%d", i, i+1))
	}
	return args
}

// kernelLine returns the kernel command line. It makes QEMU exit after a panic (with -no-reboot) instead of
// after the timeout, and keeps watchdogs from treating slow emulation as a hang. Mitigations of processor bugs, which
// an emulated processor does not have, would take a seventh of the time.
func (c Config) kernelLine(console string) string {
	line := "console=" + console + " panic=-1 quiet nowatchdog mitigations=off"
	if c.Append != "" {
		line += " " + c.Append
	}
	return line
}
