package seccomp

import (
	"fmt"
	"slices"
	"syscall"
)

// String returns a description for the messages of tests.
func (a Action) String() string {
	switch {
	case a == Allow:
		return "allow"
	case a == Kill:
		return "kill"
	case a == Ignore:
		return "ignore"
	case a&0xffff0000 == errnoAction:
		return fmt.Sprintf("errno %d (%s)", a&0xffff, syscall.Errno(a&0xffff))
	}
	return fmt.Sprintf("action 0x%08x", uint32(a))
}

// actionOf returns the action of a filter built for arch for a call of that architecture. The generated BPF
// is tested against it.
func (p Policy) actionOf(arch Arch, nr uint32, args [6]uint64) Action {
	return p.ruleOf(arch, nr).actionOf(args)
}

// ruleOf returns the rule for a call, which is one without arguments where no rule names it.
func (p Policy) ruleOf(arch Arch, nr uint32) Rule {
	if arch == AMD64 && nr&x32Bit != 0 {
		return Rule{Action: p.Foreign}
	}
	for _, r := range p.Rules {
		for _, name := range r.Calls {
			if n, ok := arch.Number(name); ok && n == nr {
				return r
			}
		}
	}
	return Rule{Action: p.Default}
}

func (r Rule) actionOf(args [6]uint64) Action {
	if r.Args == nil {
		return r.Action
	}
	value := uint32(args[r.Args.Index])
	if value&r.Args.AnyBits != 0 || slices.Contains(r.Args.OneOf, value) {
		return r.Args.Then
	}
	return r.Action
}
