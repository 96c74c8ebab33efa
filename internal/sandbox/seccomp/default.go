package seccomp

import (
	"slices"
	"strings"
	"syscall"
)

// Default is the policy for compiling and running solutions: static and dynamic C and C++, Rust, Go, Python, Java and
// Node. The filter is loaded before execve, which therefore must be allowed.
func Default() Policy {
	return Policy{
		Default: Errno(syscall.ENOSYS),
		Foreign: Kill,
		Rules:   slices.Concat(allowed(), tested(), escapes(), refused(), absent(), ignored()),
	}
}

// group returns a rule that tests no argument. The names in calls are separated by white space.
func group(why string, action Action, calls string) Rule {
	return Rule{Why: why, Action: action, Calls: strings.Fields(calls)}
}

func allowed() []Rule {
	return []Rule{
		group("files: the mount namespace, rlimits and file modes restrict them, as for any process", Allow, `
			read write readv writev pread64 pwrite64 preadv pwritev lseek open openat creat close close_range
			dup dup2 dup3 stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat
			getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2
			link linkat symlink symlinkat truncate ftruncate fallocate fsync fdatasync umask
			chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat`),
		group("copying with metadata lists extended attributes and fails on ENOSYS", Allow, `
			getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr`),
		group("mkfifo; for devices the kernel wants CAP_MKNOD", Allow, `mknod mknodat`),
		group("pipes, and waiting for them: private to the processes, buffers charged to the run, descriptors limited "+
			"by RLIMIT_NOFILE", Allow, `
			pipe pipe2 poll ppoll select pselect6 memfd_create
			epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
			eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime`),
		group("memory: charged to the memory cgroup; RLIMIT_MEMLOCK is 0, so mlock only fails", Allow, `
			brk mmap munmap mremap mprotect msync mlock mlock2 mlockall munlock munlockall
			pkey_alloc pkey_free pkey_mprotect map_shadow_stack get_mempolicy`),
		group("threads: how libc and the runtimes start and stop them", Allow, `
			arch_prctl set_tid_address set_robust_list get_robust_list rseq membarrier gettid
			futex futex_waitv futex_wake futex_wait futex_requeue`),
		group("processes: created and reaped in the run's pid namespace and cgroup", Allow, `
			fork vfork execve execveat exit exit_group wait4 waitid getpid getppid
			getpgid getpgrp setpgid getsid`),
		group("signals: they reach only processes in the pid namespace, by number or by descriptor", Allow, `
			rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend rt_sigqueueinfo
			rt_tgsigqueueinfo sigaltstack kill tkill tgkill pause pidfd_open pidfd_send_signal`),
		group("a sleep that was stopped continues with it; without it the sleep fails with ENOSYS after SIGCONT", Allow,
			`restart_syscall`),
		group("clocks and timers: reading, and signals to itself", Allow, `
			time gettimeofday clock_gettime clock_getres nanosleep clock_nanosleep alarm getitimer setitimer times
			timer_create timer_settime timer_gettime timer_getoverrun timer_delete`),
		group("placement inside the slot: the cpuset bounds the mask; threads need it on CPUs without load balancing", Allow, `
			sched_yield sched_setaffinity sched_getaffinity getcpu`),
		group("reading its own scheduling parameters", Allow, `
			sched_getparam sched_getscheduler sched_getattr sched_get_priority_max sched_get_priority_min
			sched_rr_get_interval getpriority`),
		group("changes nothing: every task has SCHED_OTHER, whose only priority is 0; Mono prints an error on stdout if "+
			"it is refused", Allow, `sched_setparam`),
		group("rlimits: there is no capability to raise a hard limit, and lowering one is harmless", Allow, `
			getrlimit setrlimit prlimit64 getrusage`),
		group("identity: without capabilities the kernel allows only the identity that the process already has", Allow, `
			getuid geteuid getgid getegid getresuid getresgid getgroups capget
			setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid`),
		group("information on the machine that every program may see, and random bytes", Allow,
			`uname sysinfo getrandom`),
		group("use of what socketpair made: no other socket can exist, none can be bound or connected to", Allow, `
			recvfrom recvmsg shutdown getsockname getpeername getsockopt`),
	}
}

// refused returns rules for calls that fail with an error for which callers have a fallback.
func refused() []Rule {
	const eperm = Action(errnoAction) | Action(syscall.EPERM)
	return []Rule{
		group("no network; AF_VSOCK and AF_ALG are in no namespace, so an empty one does not replace this", eperm, `
			socket connect bind listen accept accept4 setsockopt sendmmsg recvmmsg`),
		group("System V IPC and POSIX message queues outlive the process, and would pass data between tests", eperm, `
			shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
			mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr`),
		group("the kernel allows SCHED_IDLE and nice 19 to everybody: both distort the measurement", eperm, `
			sched_setattr setpriority ioprio_set`),
		group("each session gets an autogroup of the scheduler: its number in /proc/self/autogroup counts the sessions "+
			"of the host, and its removal falls into later runs; a process group leader gets the same error from the "+
			"kernel", eperm, `setsid`),
		group("memory stays on the slot's node", eperm, `
			mbind set_mempolicy set_mempolicy_home_node migrate_pages move_pages`),
		group("shows which pages of a shared file other runs have touched", eperm, `mincore`),
		group("there is no capability or group to set", eperm, `capset setgroups`),
		group("pipes that hold pages of the page cache (Dirty Pipe); EINVAL is the error for which every runtime falls "+
			"back to read and write", Errno(syscall.EINVAL), `
			splice tee vmsplice sendfile`),
		group("kernel code that no program here needs; copying tools ignore EOPNOTSUPP", Errno(syscall.EOPNOTSUPP), `
			setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr`),
	}
}

// absent returns rules for calls that would fail with ENOSYS anyway. They are listed explicitly, because each
// of them looks harmless enough to be allowed by mistake.
func absent() []Rule {
	const enosys = Action(errnoAction) | Action(syscall.ENOSYS)
	return []Rule{
		group("its flags are in memory, which a filter cannot read; libc falls back to clone", enosys, `clone3`),
		group("kernel threads work and open sockets for it, which is not charged to the run", enosys, `
			io_uring_setup io_uring_enter io_uring_register io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents`),
		group("show, as mincore does, what is in the page cache (preadv2 with RWF_NOWAIT), or which names other runs "+
			"looked up (openat2 with RESOLVE_CACHED)",
			enosys, `cachestat preadv2 pwritev2 openat2`),
		group("memory that judged cannot read, or memory of another process", enosys,
			`memfd_secret process_madvise process_mrelease`),
		group("watches on shared inodes: they see other runs open files", enosys, `
			inotify_init inotify_init1 inotify_add_watch inotify_rm_watch fanotify_init fanotify_mark`),
		group("splices internally; runtimes fall back to read and write", enosys, `copy_file_range`),
		group("a second filter could reply in place of the kernel", enosys, `
			seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self`),
		group("16-bit segments: kernel code that only emulators use", enosys, `modify_ldt`),
	}
}

// ignored returns rules for calls that succeed without effect.
func ignored() []Rule {
	return []Rule{
		group("the kernel may ignore advice; POSIX_FADV_DONTNEED would evict pages that judged has read for other runs",
			Ignore, `
			fadvise64 readahead`),
		group("locks on a shared file pass data to other sandboxes; if it fails, Java writes a warning to stdout and "+
			"compilers exit", Ignore, `flock`),
		group("nothing of a run is on a disk; sync would only affect the files of others", Ignore, `sync syncfs`),
	}
}
