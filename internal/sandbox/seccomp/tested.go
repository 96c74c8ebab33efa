package seccomp

import "syscall"

// Flags, commands and options of linux/sched.h, fcntl.h, asm-generic/ioctls.h and
// linux/prctl.h; the same on amd64 and arm64.
const (
	cloneNewNS     = 0x00020000
	cloneNewCgroup = 0x02000000
	cloneNewUTS    = 0x04000000
	cloneNewIPC    = 0x08000000
	cloneNewUser   = 0x10000000
	cloneNewPID    = 0x20000000
	cloneNewNet    = 0x40000000
	// cloneNewTime is in the byte of the exit signal, so clone does not treat it as a flag; only clone3 and
	// unshare do. It is tested nevertheless: no signal has this bit, so no program is affected.
	cloneNewTime = 0x00000080
	cloneNewAny  = cloneNewNS | cloneNewCgroup | cloneNewUTS | cloneNewIPC | cloneNewUser | cloneNewPID |
		cloneNewNet | cloneNewTime

	// cloneParent makes the new process a child of the caller's parent. The first process of a run is a child
	// of judged, so its siblings would be too. judged would not know and never reap them, and the end of the
	// run's pid namespace would wait forever for their zombies (zap_pid_ns_processes).
	cloneParent = 0x00008000

	dupFD        = 0
	getFD        = 1
	setFD        = 2
	getFlags     = 3
	setFlags     = 4
	dupFDCloexec = 1030
	getPipeSize  = 1032
	addSeals     = 1033
	getSeals     = 1034

	ttyGet        = 0x5401 // TCGETS: isatty
	bytesReady    = 0x541b // FIONREAD
	setNonblock   = 0x5421 // FIONBIO
	clearCloexec  = 0x5450 // FIONCLEX
	setCloexec    = 0x5451 // FIOCLEX
	noRandomize   = 0x0040000
	getPersona    = 0xffffffff
	familyUnix    = 1
	schedOther    = 0
	outOfBand     = 1  // MSG_OOB
	adviseFree    = 8  // MADV_FREE
	adviseMerge   = 12 // MADV_MERGEABLE
	advisePageOut = 21 // MADV_PAGEOUT
	prSetDeathSig = 1
	prGetDeathSig = 2
	prGetDumpable = 3
	prSetName     = 15
	prGetName     = 16
	prGetSeccomp  = 21
	prCapRead     = 23
	prGetSecure   = 27
	prGetSlack    = 30
	prGetReaper   = 37
	prSetNoNew    = 38
	prGetNoNew    = 39
	prGetTHP      = 42
	prGetVector   = 51 // PR_SVE_GET_VL
	prGetTagged   = 56 // PR_GET_TAGGED_ADDR_CTRL
	prSetVMA      = 0x53564d41
)

// tested returns the rules that test an argument. None is for a frequent call.
func tested() []Rule {
	return []Rule{
		{
			Why:    "new namespaces restore the capabilities that were dropped; a sibling would be a child of judged",
			Calls:  []string{"clone"},
			Action: Allow,
			Args:   &Args{Index: 0, AnyBits: cloneNewAny | cloneParent, Then: Kill},
		},
		{
			Why:    "Node and asyncio talk to their children through a pair; it has no name and stays in the process tree",
			Calls:  []string{"socketpair"},
			Action: Errno(syscall.EPERM),
			Args:   &Args{Index: 0, OneOf: []uint32{familyUnix}, Then: Allow},
		},
		{
			Why: "the kernel allows SCHED_IDLE and SCHED_BATCH to everybody: both distort the measurement; " +
				"SCHED_OTHER is what every task has, and Mono and CoreCLR set it for each thread",
			Calls:  []string{"sched_setscheduler"},
			Action: Errno(syscall.EPERM),
			Args:   &Args{Index: 1, OneOf: []uint32{schedOther}, Then: Allow},
		},
		{
			Why: "MADV_FREE leaves unused pages charged, so the peak would be too high; MADV_PAGEOUT takes used pages out " +
				"of it; MADV_MERGEABLE is a channel through shared pages. The error is that of a kernel that does not " +
				"know the advice; allocators then use MADV_DONTNEED",
			Calls:  []string{"madvise"},
			Action: Allow,
			Args: &Args{Index: 2, OneOf: []uint32{adviseFree, adviseMerge, advisePageOut},
				Then: Errno(syscall.EINVAL)},
		},
		outOfBandRule("sendto", 3),
		outOfBandRule("sendmsg", 2),
		{
			Why: "locks and leases pass data to other sandboxes, F_SETPIPE_SZ multiplies the buffers, F_SETOWN and " +
				"F_SETSIG send signals",
			Calls:  []string{"fcntl"},
			Action: Errno(syscall.EPERM),
			Args: &Args{Index: 1, OneOf: []uint32{setFlags, getFlags, setFD, getFD, dupFD, dupFDCloexec, getPipeSize,
				addSeals, getSeals}, Then: Allow},
		},
		{
			Why: "drivers and file systems have thousands of commands; " +
				"programs ask with TCGETS whether a file is a terminal",
			Calls:  []string{"ioctl"},
			Action: Errno(syscall.ENOTTY),
			Args: &Args{Index: 1, OneOf: []uint32{ttyGet, bytesReady, setNonblock, clearCloexec, setCloexec},
				Then: Allow},
		},
		{
			Why: "names, the parent-death signal and reading; not PR_SET_MM, PR_SCHED_CORE, PR_SET_THP_DISABLE (judged " +
				"has set it), PR_SET_SECCOMP, PR_SET_MEMORY_MERGE (a channel through shared pages)",
			Calls:  []string{"prctl"},
			Action: Errno(syscall.EPERM),
			Args: &Args{Index: 0, Then: Allow, OneOf: []uint32{
				prSetName, prSetVMA, prSetDeathSig, prSetNoNew,
				prGetName, prGetDeathSig, prGetDumpable, prGetSeccomp, prCapRead, prGetSecure, prGetSlack,
				prGetReaper, prGetNoNew, prGetTHP, prGetVector, prGetTagged,
			}},
		},
		{
			Why: "READ_IMPLIES_EXEC and the old layouts change how memory is laid out and measured; " +
				"runtimes read the personality, or turn randomization off",
			Calls:  []string{"personality"},
			Action: Errno(syscall.EPERM),
			Args:   &Args{Index: 0, OneOf: []uint32{getPersona, noRandomize}, Then: Allow},
		},
	}
}

// outOfBandRule allows a send call, but only without an urgent byte. Pairs of unix sockets support urgent bytes
// since Linux 5.15, and no runtime sends them. The error is that of a kernel without CONFIG_AF_UNIX_OOB.
func outOfBandRule(call string, flags int) Rule {
	return Rule{
		Why:    "use of what socketpair made; urgent bytes are rarely used kernel code (CVE-2025-38236)",
		Calls:  []string{call},
		Action: Allow,
		Args:   &Args{Index: flags, AnyBits: outOfBand, Then: Errno(syscall.EOPNOTSUPP)},
	}
}

// escapes returns rules for attempts to escape from the sandbox or attack the host. No solution makes these
// calls by accident, so they kill it with the verdict SV.
func escapes() []Rule {
	return []Rule{
		group("other namespaces and other roots", Kill, `
			unshare setns mount umount2 pivot_root chroot
			open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr`),
		group("memory and descriptors of other processes", Kill, `
			ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd`),
		group("keyrings belong to the user and outlive the sandbox", Kill, `add_key request_key keyctl`),
		group("handles open files outside every mount", Kill, `name_to_handle_at open_by_handle_at`),
		group("programs and probes inside the kernel, and the tool that wins races in it", Kill,
			`bpf perf_event_open userfaultfd`),
		group("the machine: modules, kernels, swap, quota, ports, log", Kill, `
			init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct
			quotactl quotactl_fd iopl ioperm syslog`),
		group("clocks and names of the host", Kill, `
			settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname`),
	}
}
