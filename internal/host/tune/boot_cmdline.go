package tune

import (
	"slices"
	"strings"

	"judged/internal/host/hostfs"
)

// sort divides the current command line into the parameters of the plan, those that it replaces, and the
// operator's. It returns the arguments for init, starting at "--".
func (p *BootPlan) sort(cmdline string, width int) (forInit []string) {
	words := hostfs.BootWords(cmdline)
	if i := slices.Index(words, "--"); i >= 0 {
		words, forInit = words[:i], words[i:]
	}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		i := slices.IndexFunc(p.Parameters, func(q BootParameter) bool { return q.Name == name })
		switch {
		case name == "BOOT_IMAGE" || name == "initrd":
			// The boot loader adds its own words.
		case i >= 0 && same(p.Parameters[i], value):
			p.Parameters[i].Present = true
		case i >= 0:
			p.Replaced = append(p.Replaced, ReplacedParameter{w, p.Parameters[i].String()})
		case name == "isolcpus" && width > 1:
			p.Replaced = append(p.Replaced, ReplacedParameter{Was: w})
		default:
			p.Kept = append(p.Kept, w)
		}
	}
	return forInit
}

// same reports whether a value on the command line has the effect that the parameter needs.
func same(p BootParameter, value string) bool {
	switch p.Name {
	case "transparent_hugepage":
		return value == "never" || value == "madvise" // only programs that request huge pages get them
	case "nosmt":
		return value == "" || value == "force"
	case "isolcpus", "nohz_full", "irqaffinity":
		wantFlags, wantCPUs, ok := hostfs.ParseCPUOption(p.Value)
		flags, cpus, ok2 := hostfs.ParseCPUOption(value)
		if p.Name == "isolcpus" && len(flags) == 0 {
			flags = []string{"domain"} // the kernel's default
		}
		return ok && ok2 && slices.Equal(wantFlags, flags) && cpus.String() == wantCPUs.String()
	default:
		return value == p.Value
	}
}
