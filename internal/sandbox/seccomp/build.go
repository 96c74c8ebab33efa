package seccomp

import (
	"fmt"
	"maps"
	"slices"
)

// Build compiles a policy to a filter for one architecture. It returns an error for a name that no architecture
// has, a call in two rules, an argument index above 5, and a program longer than the kernel accepts.
func Build(arch Arch, p Policy) (Filter, error) {
	ranges, err := p.ranges(arch)
	if err != nil {
		return nil, fmt.Errorf("build seccomp filter for %s: %w", arch, err)
	}
	a := &assembler{rets: make(map[Action]int)}
	entry := a.search(ranges)
	if arch == AMD64 {
		entry = a.test(opBits, x32Bit, a.ret(p.Foreign), entry)
	}
	entry = a.load(offNumber, entry)
	entry = a.test(opEqual, uint32(arch), entry, a.ret(p.Foreign))
	a.load(offArch, entry)
	if len(a.reversed) > maxInstructions {
		return nil, fmt.Errorf("build seccomp filter for %s: %d instructions; the kernel accepts %d", arch,
			len(a.reversed), maxInstructions)
	}
	slices.Reverse(a.reversed)
	return a.reversed, nil
}

// numberRange applies from its first number up to the next range.
type numberRange struct {
	first  uint32
	action Action
	args   *Args
}

func (r numberRange) sameAs(o numberRange) bool {
	return r.args == nil && o.args == nil && r.action == o.action
}

// ranges returns ranges that cover all numbers in ascending order. Neighbours with the same action are merged.
func (p Policy) ranges(arch Arch) ([]numberRange, error) {
	byNumber, err := p.byNumber(arch)
	if err != nil {
		return nil, err
	}
	var all []numberRange
	add := func(r numberRange) {
		if len(all) == 0 || !all[len(all)-1].sameAs(r) {
			all = append(all, r)
		}
	}
	next := uint32(0)
	for _, nr := range slices.Sorted(maps.Keys(byNumber)) {
		if nr != next {
			add(numberRange{first: next, action: p.Default})
		}
		add(byNumber[nr])
		next = nr + 1
	}
	add(numberRange{first: next, action: p.Default})
	return all, nil
}

func (p Policy) byNumber(arch Arch) (map[uint32]numberRange, error) {
	if arch.numbers() == nil {
		return nil, fmt.Errorf("no table of system calls")
	}
	all := make(map[uint32]numberRange)
	for _, rule := range p.Rules {
		if rule.Args != nil && (rule.Args.Index < 0 || rule.Args.Index > 5) {
			return nil, fmt.Errorf("invalid argument index %d of %q: a call has arguments 0 to 5", rule.Args.Index,
				rule.Calls)
		}
		for _, name := range rule.Calls {
			if !isKnown(name) {
				return nil, fmt.Errorf("unknown system call %q: no architecture has it", name)
			}
			nr, ok := arch.Number(name)
			if !ok {
				continue
			}
			if _, twice := all[nr]; twice {
				return nil, fmt.Errorf("system call %q is in two rules", name)
			}
			all[nr] = numberRange{first: nr, action: rule.Action, args: rule.Args}
		}
	}
	return all, nil
}

func isKnown(name string) bool {
	_, amd64 := AMD64.Number(name)
	_, arm64 := ARM64.Number(name)
	return amd64 || arm64
}

// search emits a binary search for the range of the number in the accumulator.
func (a *assembler) search(ranges []numberRange) int {
	if len(ranges) == 1 {
		return a.verdict(ranges[0])
	}
	middle := len(ranges) / 2
	upper := a.search(ranges[middle:])
	lower := a.search(ranges[:middle])
	return a.test(opFrom, ranges[middle].first, upper, lower)
}

func (a *assembler) verdict(r numberRange) int {
	if r.args == nil {
		return a.ret(r.action)
	}
	next := a.ret(r.action)
	for _, value := range slices.Backward(r.args.OneOf) {
		next = a.test(opEqual, value, a.ret(r.args.Then), next)
	}
	if r.args.AnyBits != 0 {
		next = a.test(opBits, r.args.AnyBits, a.ret(r.args.Then), next)
	}
	return a.load(offArgs+8*uint32(r.args.Index), next)
}
