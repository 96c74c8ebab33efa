package boot

import (
	"slices"
	"strings"

	"judged/internal/base/cpuset"
)

// sort tells apart what stands on the present command line: the words of the plan, those that it
// replaces, and the operator's. It returns what is for init, from "--" on.
func (p *Plan) sort(cmdline string, width int) (forInit []string) {
	words := split(cmdline)
	if i := slices.Index(words, "--"); i >= 0 {
		words, forInit = words[:i], words[i:]
	}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		i := slices.IndexFunc(p.Parameters, func(q Parameter) bool { return q.Name == name })
		switch {
		case name == "BOOT_IMAGE" || name == "initrd":
			// The loader's own; it writes them anew.
		case i >= 0 && same(p.Parameters[i], value):
			p.Parameters[i].Present = true
		case i >= 0:
			p.Replaced = append(p.Replaced, Replaced{w, p.Parameters[i].String()})
		case name == "isolcpus" && width > 1:
			p.Replaced = append(p.Replaced, Replaced{Was: w})
		default:
			p.Kept = append(p.Kept, w)
		}
	}
	return forInit
}

// split breaks a command line at spaces outside double quotes, as the kernel does.
func split(cmdline string) []string {
	quoted := false
	return strings.FieldsFunc(cmdline, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return !quoted && (c == ' ' || c == '\t' || c == '\n')
	})
}

// same reports whether a value on the command line does what the parameter wants.
func same(p Parameter, value string) bool {
	switch p.Name {
	case "transparent_hugepage":
		return value == "never" || value == "madvise" // huge pages for who asks are no chance
	case "nosmt":
		return value == "" || value == "force"
	case "isolcpus", "nohz_full", "irqaffinity":
		wantFlags, wantCPUs, ok := list(p.Value)
		flags, cpus, ok2 := list(value)
		if p.Name == "isolcpus" && len(flags) == 0 {
			flags = []string{"domain"} // which is what the kernel takes it for
		}
		return ok && ok2 && slices.Equal(wantFlags, flags) && cpus.String() == wantCPUs.String()
	default:
		return value == p.Value
	}
}

// list reads the flags, in order, and the CPUs of a value such as managed_irq,domain,2-7.
func list(value string) (flags []string, cpus cpuset.Set, ok bool) {
	var numbers []string
	for part := range strings.SplitSeq(value, ",") {
		if part != "" && part[0] >= '0' && part[0] <= '9' {
			numbers = append(numbers, part)
		} else {
			flags = append(flags, part)
		}
	}
	cpus, err := cpuset.Parse(strings.Join(numbers, ","))
	slices.Sort(flags)
	return flags, cpus, err == nil
}
