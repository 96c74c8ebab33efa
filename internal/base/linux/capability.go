package linux

import (
	"os"

	"golang.org/x/sys/unix"
)

// capabilities are the capabilities that judged needs. deploy/judged.service explains each.
var capabilities = []struct {
	name   string
	number int
}{
	{"CAP_SYS_ADMIN", unix.CAP_SYS_ADMIN},
	{"CAP_SETUID", unix.CAP_SETUID},
	{"CAP_SETGID", unix.CAP_SETGID},
	{"CAP_SETPCAP", unix.CAP_SETPCAP},
	{"CAP_KILL", unix.CAP_KILL},
	{"CAP_CHOWN", unix.CAP_CHOWN},
	{"CAP_DAC_OVERRIDE", unix.CAP_DAC_OVERRIDE},
	{"CAP_SYS_NICE", unix.CAP_SYS_NICE},
	{"CAP_SYS_CHROOT", unix.CAP_SYS_CHROOT},
	{"CAP_MKNOD", unix.CAP_MKNOD},
}

// Capabilities returns the names of the capabilities that judged needs; see capabilities(7).
func Capabilities() []string {
	var names []string
	for _, c := range capabilities {
		names = append(names, c.name)
	}
	return names
}

// MissingCapabilities returns the elements of Capabilities that are not effective in the calling thread.
func MissingCapabilities() ([]string, error) {
	var sets [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &sets[0]); err != nil {
		return nil, os.NewSyscallError("capget", err)
	}
	var missing []string
	for _, c := range capabilities {
		if sets[c.number/32].Effective&(1<<(c.number%32)) == 0 {
			missing = append(missing, c.name)
		}
	}
	return missing, nil
}
