package testkit

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"judged/internal/base/linux"
)

// Unit is the part of a systemd unit file that describes its process. A line of the file that is unknown here is an
// error, so that a unit cannot contain settings that are not tested.
type Unit struct {
	Capabilities     []int // bounding set, by number
	NoNewPrivileges  bool
	Umask            int
	Limits           map[int]syscall.Rlimit // by resource
	StateDirectory   string                 // below /var/lib
	RuntimeDirectory string                 // below /run; "" if not set
}

// unitIgnores lists settings of [Service] that concern when and what systemd starts and how it supervises it, or
// that request defaults.
var unitIgnores = []string{"Type", "NotifyAccess", "ExecStart", "ExecReload", "Slice", "KillMode", "TimeoutStopSec",
	"TimeoutStartSec",
	"Restart", "RestartSec", "OOMPolicy",
	"TasksMax", "StateDirectoryMode", "RuntimeDirectoryPreserve", "ConfigurationDirectory", "KeyringMode"}

// unitRequires lists settings that the file must contain, because UnitMain always applies them.
var unitRequires = []string{"Delegate=yes", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes",
	"ProtectControlGroups=no", "ProcSubset=all"}

var unitLimits = map[string]int{"LimitNOFILE": syscall.RLIMIT_NOFILE, "LimitSTACK": syscall.RLIMIT_STACK,
	"LimitFSIZE": syscall.RLIMIT_FSIZE,
	"LimitCORE":  syscall.RLIMIT_CORE, "LimitMEMLOCK": linux.LimitLocked}

// ReadUnit reads a unit file.
func ReadUnit(path string) (Unit, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Unit{}, err
	}
	u := Unit{Umask: 0o022, Limits: map[int]syscall.Rlimit{}}
	var section string
	var found []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		key, value, ok := strings.Cut(line, "=")
		if section != "[Service]" || !ok || strings.HasPrefix(line, "#") || slices.Contains(unitIgnores, key) {
			continue
		}
		if slices.Contains(unitRequires, line) {
			found = append(found, line)
			continue
		}
		if err := u.set(key, value); err != nil {
			return Unit{}, fmt.Errorf("read %s: %q: %w", path, line, err)
		}
	}
	if len(found) != len(unitRequires) {
		return Unit{}, fmt.Errorf("read %s: it says %q, want %q", path, found, unitRequires)
	}
	return u, nil
}

func (u *Unit) set(key, value string) (err error) {
	resource, isLimit := unitLimits[key]
	switch {
	case isLimit:
		u.Limits[resource], err = limit(value)
	case key == "CapabilityBoundingSet":
		u.Capabilities, err = capabilities(value)
	case key == "NoNewPrivileges":
		u.NoNewPrivileges = value == "yes"
	case key == "UMask":
		var mask int64
		mask, err = strconv.ParseInt(value, 8, 32)
		u.Umask = int(mask)
	case key == "StateDirectory":
		u.StateDirectory = "/var/lib/" + value
	case key == "RuntimeDirectory":
		u.RuntimeDirectory = "/run/" + value
	default:
		err = fmt.Errorf("unknown here; teach testkit.Unit what it means")
	}
	return err
}

// limit parses SOFT:HARD, or one value for both.
func limit(value string) (syscall.Rlimit, error) {
	soft, hard, ok := strings.Cut(value, ":")
	if !ok {
		hard = soft
	}
	var numbers [2]uint64
	for i, text := range []string{soft, hard} {
		if text == "infinity" {
			numbers[i] = ^uint64(0)
			continue
		}
		factor := uint64(1)
		if rest, mebi := strings.CutSuffix(text, "M"); mebi {
			text, factor = rest, 1<<20
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return syscall.Rlimit{}, err
		}
		numbers[i] = n * factor
	}
	return syscall.Rlimit{Cur: numbers[0], Max: numbers[1]}, nil
}

// capabilityNames are the capabilities of linux/capability.h in their order.
var capabilityNames = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
	NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE
	SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM
	BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

func capabilities(value string) ([]int, error) {
	var all []int
	for name := range strings.FieldsSeq(value) {
		n := slices.Index(capabilityNames, strings.TrimPrefix(name, "CAP_"))
		if n < 0 {
			return nil, fmt.Errorf("no capability %q", name)
		}
		all = append(all, n)
	}
	return all, nil
}

// Status returns the expected fields of /proc/PID/status for a process of the unit: root with all the
// privileges that it may have, and no more.
func (u Unit) Status() map[string]string {
	var set uint64
	for _, c := range u.Capabilities {
		set |= 1 << c
	}
	nnp := "0"
	if u.NoNewPrivileges {
		nnp = "1"
	}
	mask := fmt.Sprintf("%016x", set)
	return map[string]string{"CapBnd": mask, "CapPrm": mask, "CapEff": mask, "CapInh": "0000000000000000",
		"CapAmb":     "0000000000000000",
		"NoNewPrivs": nnp, "Umask": fmt.Sprintf("%04o", u.Umask)}
}
