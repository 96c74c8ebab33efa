package seccomp

import (
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

var bothArchs = []Arch{AMD64, ARM64}

// long needs jumps beyond 255 instructions: every call has a different action, and every seventh tests an argument.
func long() Policy {
	p := Policy{Default: Errno(syscall.ENOSYS), Foreign: Kill}
	seen := map[string]bool{}
	for _, arch := range bothArchs {
		for name := range arch.numbers() {
			if seen[name] {
				continue
			}
			seen[name] = true
			r := Rule{Calls: []string{name}, Action: Errno(syscall.Errno(1 + len(seen)))}
			if len(seen)%7 == 0 {
				r.Args = &Args{Index: len(seen) % 6, AnyBits: uint32(len(seen)),
					OneOf: []uint32{0, 77, uint32(len(seen)) << 16}, Then: Allow}
			}
			p.Rules = append(p.Rules, r)
		}
	}
	return p
}

func TestFilterMatchesPolicy(t *testing.T) {
	policies := map[string]Policy{
		"default": Default(),
		"empty":   {Default: Allow, Foreign: Kill},
		"long":    long(),
		// The return after the load is not the next instruction.
		"no values": {Default: Kill, Foreign: Kill, Rules: []Rule{
			{Calls: []string{"read"}, Action: Allow},
			{Calls: []string{"sync"}, Action: Ignore},
			{Calls: []string{"close"}, Action: Kill, Args: &Args{Then: Allow}},
		}},
	}
	for name, p := range policies {
		for _, arch := range bothArchs {
			t.Run(name+"/"+arch.String(), func(t *testing.T) {
				t.Parallel()
				f, err := Build(arch, p)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d instructions", len(f))
				compareEverywhere(t, arch, p, f)
			})
		}
	}
}

func compareEverywhere(t *testing.T, arch Arch, p Policy, f Filter) {
	t.Helper()
	plain := []uint64{0, 1, 0x10000000, 1 << 63, ^uint64(0)}
	for _, nr := range interestingNumbers() {
		values, rule := plain, p.ruleOf(arch, nr)
		if args := argsOf(arch, p, nr); args != nil {
			values = interestingValues(args)
		}
		for index := range 6 {
			for _, value := range values {
				var args [6]uint64
				args[index] = value
				check(t, f, data{arch, nr, args}, rule.actionOf(args))
			}
		}
		for _, foreign := range []Arch{0, 0x40000003, 0x40000028, AMD64 ^ ARM64 ^ arch, 0xffffffff} {
			check(t, f, data{arch: foreign, nr: nr}, p.Foreign)
		}
		if t.Failed() {
			return
		}
	}
}

func check(t *testing.T, f Filter, d data, want Action) {
	t.Helper()
	got, err := run(f, d)
	if err != nil {
		t.Fatalf("%+v: %v", d, err)
	}
	if got.action != want {
		t.Errorf("%+v: got %s from the filter, want %s by the policy", d, got.action, want)
	}
}

func interestingNumbers() []uint32 {
	var all []uint32
	for nr := range uint32(1024) {
		all = append(all, nr, nr|x32Bit)
	}
	return append(all, x32Bit-1, 0x7fffffff, 0x80000000, 0x80000001, 0xbfffffff, 0xc0000000, 0xfffffffe, 0xffffffff)
}

func argsOf(arch Arch, p Policy, nr uint32) *Args {
	for _, r := range p.Rules {
		for _, name := range r.Calls {
			if n, ok := arch.Number(name); ok && n == nr {
				return r.Args
			}
		}
	}
	return nil
}

func interestingValues(a *Args) []uint64 {
	values := []uint64{0, ^uint64(0), 0xffffffff, uint64(^a.AnyBits)}
	for bit := range 64 {
		values = append(values, 1<<bit)
	}
	for _, v := range a.OneOf {
		values = append(values, uint64(v), uint64(v)-1, uint64(v)+1, uint64(v)|1<<32, uint64(v)<<32)
	}
	return values
}

// TestHotCallsReadNoArguments: frequent calls must stay in the kernel's bitmap of calls that are always
// allowed, so the filter must not read an argument for them.
func TestHotCallsReadNoArguments(t *testing.T) {
	hot := strings.Fields(`read write readv writev pread64 pwrite64 lseek openat close fstat mmap munmap mremap mprotect
		brk futex rt_sigaction rt_sigprocmask sched_yield clock_gettime getpid gettid epoll_pwait ppoll
		nanosleep clock_nanosleep getrandom restart_syscall rt_sigreturn exit exit_group wait4 execve`)
	for _, arch := range bothArchs {
		f, err := Build(arch, Default())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range hot {
			nr, ok := arch.Number(name)
			if !ok {
				t.Fatalf("%s has no %s", arch, name)
			}
			got, err := run(f, data{arch: arch, nr: nr})
			if want := (outcome{action: Allow}); err != nil || got != want {
				t.Errorf("%s %s: got %+v, %v, want %+v", arch, name, got, err, want)
			}
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	rule := func(names ...string) Policy { return Policy{Rules: []Rule{{Calls: names, Action: Allow}}} }
	badIndex := rule("read")
	badIndex.Rules[0].Args = &Args{Index: 6}
	tests := []struct {
		name   string
		arch   Arch
		policy Policy
		want   string
	}{
		{"unknown call", AMD64, rule("raed"), `unknown system call "raed": no architecture has it`},
		{"twice", ARM64, rule("read", "read"), `system call "read" is in two rules`},
		{"argument", AMD64, badIndex, `call has arguments 0 to 5`},
		{"architecture", 0x40000003, rule("read"), "arch 0x40000003: no table of system calls"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Build(tt.arch, tt.policy)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestBuildIgnoresCallsOfOtherArchitectures(t *testing.T) {
	p := Policy{Default: Kill, Foreign: Kill, Rules: []Rule{{Calls: []string{"fork"}, Action: Allow}}}
	if _, err := Build(ARM64, p); err != nil {
		t.Errorf("build for arm64, which has no fork: %v", err)
	}
}

func TestInstructionIsSockFilter(t *testing.T) {
	var i Instruction
	got := [5]uintptr{unsafe.Sizeof(i), unsafe.Offsetof(i.Code), unsafe.Offsetof(i.JT), unsafe.Offsetof(i.JF),
		unsafe.Offsetof(i.K)}
	if want := [5]uintptr{8, 0, 2, 3, 4}; got != want {
		t.Errorf("size and offsets %v, want %v as in struct sock_filter", got, want)
	}
}
