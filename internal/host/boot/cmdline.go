package boot

import (
	"slices"
	"strings"

	"judged/internal/base/cpuset"
)

// sort divides the present command line into the words of the plan, those that it replaces, and the operator's. It
// returns what is for init, from "--" on.
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
			// The boot loader adds its own.
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
		return value == "never" || value == "madvise" // only programs that ask get huge pages
	case "nosmt":
		return value == "" || value == "force"
	case "isolcpus", "nohz_full", "irqaffinity":
		wantFlags, wantCPUs, ok := list(p.Value)
		flags, cpus, ok2 := list(value)
		if p.Name == "isolcpus" && len(flags) == 0 {
			flags = []string{"domain"} // the kernel's default
		}
		return ok && ok2 && slices.Equal(wantFlags, flags) && cpus.String() == wantCPUs.String()
	default:
		return value == p.Value
	}
}

// list parses the flags, in order, and the CPUs of a value such as managed_irq,domain,2-7.
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

// Option is the value of an option of a kernel command line, the last one if there are several; "-" for one without a
// value, "" if it is missing. What follows "--" is for init.
func Option(cmdline, name string) string {
	value := ""
	for _, word := range split(cmdline) {
		if word == "--" {
			break
		}
		switch n, v, hasValue := strings.Cut(word, "="); {
		case n != name:
		case hasValue:
			value = v
		default:
			value = "-"
		}
	}
	return value
}

// OptionCPUs are the CPUs in the value of an option, such as those behind the flags of isolcpus=. An invalid list is
// empty, as it is for the kernel.
func OptionCPUs(cmdline, name string) cpuset.Set {
	_, cpus, _ := list(Option(cmdline, name))
	return cpus
}
