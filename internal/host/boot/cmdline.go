package boot

import (
	"slices"
	"strings"

	"judged/internal/base/cpuset"
)

// sort divides the current command line into the parameters of the plan, those that it replaces, and the
// operator's. It returns the arguments for init, starting at "--".
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
			// The boot loader adds its own words.
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

// split splits a command line at spaces outside double quotes, as the kernel does.
func split(cmdline string) []string {
	quoted := false
	return strings.FieldsFunc(cmdline, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return !quoted && (c == ' ' || c == '\t' || c == '\n')
	})
}

// same reports whether a value on the command line has the effect that the parameter needs.
func same(p Parameter, value string) bool {
	switch p.Name {
	case "transparent_hugepage":
		return value == "never" || value == "madvise" // only programs that request huge pages get them
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

// list parses a value such as managed_irq,domain,2-7 into its flags and CPUs.
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

// Option returns the last value of an option on a kernel command line, "-" if it has no value, or "" if it is
// missing. Words after "--" are for init.
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

// OptionCPUs returns the CPUs in the value of an option, such as those after the flags of isolcpus=. Like the
// kernel it treats an invalid list as empty.
func OptionCPUs(cmdline, name string) cpuset.Set {
	_, cpus, _ := list(Option(cmdline, name))
	return cpus
}
