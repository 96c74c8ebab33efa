package seccomp

import (
	"syscall"
	"testing"
)

// TestDefault states the policy a second time, independently, so that a change of default.go that breaks a
// guarantee must also change this test.
func TestDefault(t *testing.T) {
	eperm, enosys := Errno(syscall.EPERM), Errno(syscall.ENOSYS)
	tests := []struct {
		call string
		args [6]uint64
		want Action
	}{
		{call: "read", want: Allow},
		{call: "execve", want: Allow},
		{call: "sched_setaffinity", want: Allow},
		{call: "clone", args: [6]uint64{0x003d0f00}, want: Allow}, // what pthread_create passes
		{call: "clone", args: [6]uint64{0x01200011}, want: Allow}, // what fork passes
		{call: "clone", args: [6]uint64{0x10000011}, want: Kill},
		{call: "clone", args: [6]uint64{0x40000000}, want: Kill},
		{call: "clone", args: [6]uint64{0x00008011}, want: Kill}, // CLONE_PARENT
		{call: "clone3", want: enosys},
		{call: "unshare", want: Kill},
		{call: "setns", want: Kill},
		{call: "mount", want: Kill},
		{call: "open_tree_attr", want: Kill},
		{call: "ptrace", want: Kill},
		{call: "keyctl", want: Kill},
		{call: "bpf", want: Kill},
		{call: "userfaultfd", want: Kill},
		{call: "clock_settime", want: Kill},
		{call: "socket", args: [6]uint64{1}, want: eperm},
		{call: "socketpair", args: [6]uint64{1}, want: Allow},
		{call: "socketpair", args: [6]uint64{40}, want: eperm},
		{call: "bind", want: eperm},
		{call: "sendto", args: [6]uint64{3, 0, 1, 0x4000}, want: Allow}, // MSG_NOSIGNAL
		{call: "sendto", args: [6]uint64{3, 0, 1, 0x4001}, want: Errno(syscall.EOPNOTSUPP)},
		{call: "sendmsg", args: [6]uint64{3, 0, 0x40}, want: Allow}, // MSG_DONTWAIT
		{call: "sendmsg", args: [6]uint64{3, 0, 1}, want: Errno(syscall.EOPNOTSUPP)},
		{call: "flock", want: Ignore},
		{call: "fcntl", args: [6]uint64{0, 4}, want: Allow},
		{call: "fcntl", args: [6]uint64{0, 6}, want: eperm},
		{call: "fcntl", args: [6]uint64{0, 37}, want: eperm},
		{call: "fcntl", args: [6]uint64{0, 1024}, want: eperm},
		{call: "fcntl", args: [6]uint64{0, 1031}, want: eperm},
		{call: "ioctl", args: [6]uint64{0, 0x5401}, want: Allow},
		{call: "ioctl", args: [6]uint64{0, 0x5412}, want: Errno(syscall.ENOTTY)}, // TIOCSTI
		{call: "prctl", args: [6]uint64{15}, want: Allow},
		{call: "prctl", args: [6]uint64{35}, want: eperm},
		{call: "prctl", args: [6]uint64{41}, want: eperm},
		{call: "prctl", args: [6]uint64{62}, want: eperm},
		{call: "personality", args: [6]uint64{0xffffffff}, want: Allow},
		{call: "personality", args: [6]uint64{0x0400000}, want: eperm},
		{call: "sched_setscheduler", args: [6]uint64{0, 0}, want: Allow},
		{call: "sched_setscheduler", args: [6]uint64{0, 3}, want: eperm},          // SCHED_BATCH
		{call: "sched_setscheduler", args: [6]uint64{0, 5}, want: eperm},          // SCHED_IDLE
		{call: "sched_setscheduler", args: [6]uint64{0, 0x40000000}, want: eperm}, // SCHED_RESET_ON_FORK
		{call: "sched_setparam", want: Allow},
		{call: "sched_setattr", want: eperm},
		{call: "setsid", want: eperm},
		{call: "setpriority", want: eperm},
		{call: "mincore", want: eperm},
		{call: "mbind", want: eperm},
		{call: "shmget", want: eperm},
		{call: "mq_open", want: eperm},
		{call: "splice", want: Errno(syscall.EINVAL)},
		{call: "vmsplice", want: Errno(syscall.EINVAL)},
		{call: "io_uring_setup", want: enosys},
		{call: "openat2", want: enosys},
		{call: "memfd_secret", want: enosys},
		{call: "cachestat", want: enosys},
		{call: "inotify_init1", want: enosys},
		{call: "statmount", want: enosys},
		{call: "sync", want: Ignore},
	}
	for _, arch := range bothArchs {
		for _, tt := range tests {
			nr, ok := arch.Number(tt.call)
			if !ok {
				t.Fatalf("%s has no %s", arch, tt.call)
			}
			if got := Default().actionOf(arch, nr, tt.args); got != tt.want {
				t.Errorf("%s %s%x: got %s, want %s", arch, tt.call, tt.args, got, tt.want)
			}
		}
	}
}

func TestRulesHaveReasons(t *testing.T) {
	for _, r := range Default().Rules {
		if r.Why == "" || len(r.Calls) == 0 {
			t.Errorf("rule for %q has the reason %q", r.Calls, r.Why)
		}
	}
}
