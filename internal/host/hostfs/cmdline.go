package hostfs

import (
	"slices"
	"strings"

	"judged/internal/base/cpuset"
)

// BootWords splits a command line at spaces outside double quotes, as the kernel does.
func BootWords(cmdline string) []string {
	quoted := false
	return strings.FieldsFunc(cmdline, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return !quoted && (c == ' ' || c == '\t' || c == '\n')
	})
}

// BootOption returns the last value of an option on a kernel command line, "-" if it has no value, or "" if it is
// missing. Words after "--" are for init.
func BootOption(cmdline, name string) string {
	value := ""
	for _, word := range BootWords(cmdline) {
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

// BootOptionCPUs returns the CPUs in the value of an option, such as those after the flags of isolcpus=. Like the
// kernel it treats an invalid list as empty.
func BootOptionCPUs(cmdline, name string) cpuset.Set {
	_, cpus, _ := ParseCPUOption(BootOption(cmdline, name))
	return cpus
}

// ParseCPUOption parses a value such as managed_irq,domain,2-7 into its flags and CPUs.
func ParseCPUOption(value string) (flags []string, cpus cpuset.Set, ok bool) {
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
