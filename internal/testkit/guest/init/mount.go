package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// mountAll sets up the root and then mounts the usual file systems.
func mountAll() error {
	if err := leaveRootfs(); err != nil {
		return err
	}
	for _, m := range []struct{ source, target, fsType, data string }{
		{"proc", "/proc", "proc", ""},
		{"sysfs", "/sys", "sysfs", ""},
		{"devtmpfs", "/dev", "devtmpfs", ""},
		{"devpts", "/dev/pts", "devpts", ""},
		{"tmpfs", "/dev/shm", "tmpfs", "mode=1777"},
		{"tmpfs", "/tmp", "tmpfs", "mode=1777"},
		{"tmpfs", "/run", "tmpfs", "mode=755"},
		{"debugfs", "/sys/kernel/debug", "debugfs", ""},
		{"cgroup2", "/sys/fs/cgroup", "cgroup2", ""},
	} {
		// sysfs has its mount points and does not allow new ones.
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			return fmt.Errorf("make mount point: %w", err)
		}
		if err := syscall.Mount(m.source, m.target, m.fsType, 0, m.data); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.fsType, m.target, err)
		}
	}
	return os.Symlink("/proc/self/fd", "/dev/fd")
}

// leaveRootfs bind-mounts the initramfs over itself and changes the root to it. On the initramfs itself
// pivot_root(2), with which every sandbox starts, fails with EINVAL, because its mount has no parent. Moving
// the mount to "/" before chroot(2) is also necessary, because a process that the kernel considers chrooted
// cannot create user namespaces.
func leaveRootfs() error {
	const stage = "/.root"
	if err := os.MkdirAll(stage, 0o755); err != nil {
		return fmt.Errorf("make mount point: %w", err)
	}
	if err := syscall.Mount("/", stage, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind the root: %w", err)
	}
	if err := os.Chdir(stage); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := syscall.Mount(".", "/", "", syscall.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the new root over the old: %w", err)
	}
	if err := syscall.Chroot("."); err != nil {
		return fmt.Errorf("change root: %w", err)
	}
	return os.Chdir("/")
}

// linkUp does "ip link set name up", without which loopback addresses do not work.
func linkUp(name string) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket to set %s up: %w", name, err)
	}
	defer syscall.Close(fd)
	// struct ifreq: the name, then a union of 24 bytes whose first member
	// here is the flags.
	var req struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(req.name[:], name)
	req.flags = syscall.IFF_UP
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS,
		uintptr(unsafe.Pointer(&req))); errno != 0 {
		return fmt.Errorf("set %s up: %w", name, errno)
	}
	return nil
}

// drain waits until the serial port has sent everything, because power off does not.
func drain(port *os.File) error {
	const tcsbrk = 0x5409 // TCSBRK with 1 is tcdrain(3)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, port.Fd(), tcsbrk, 1); errno != 0 {
		return fmt.Errorf("drain the result channel: %w", errno)
	}
	return nil
}
