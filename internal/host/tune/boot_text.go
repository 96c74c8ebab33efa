package tune

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"judged/internal/base/text"
)

// WriteText writes the plan as text: the command line, the reason for each word, the removed words, omitted
// parameters with the reasons, and the files.
func (p BootPlan) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, n := range p.Notes {
		fmt.Fprintf(b, "note: %s\n", n)
	}
	if missing := p.Missing(); len(missing)+len(p.Replaced) == 0 {
		fmt.Fprintln(b, "this kernel was started with the planned command line")
	} else {
		fmt.Fprintf(b, "missing from the kernel command line: %s\n", cmp.Or(strings.Join(missing, " "), "nothing"))
	}
	fmt.Fprintf(b, "\nkernel command line for CPUs %s in slots of %d\n\n    %s\n\n", p.CPUs, p.Width,
		text.Printable(p.CommandLine))
	p.writeWords(b)
	for _, f := range p.Files {
		fmt.Fprintf(b, "\n%s\n%s\nthen: %s\n\n", f.Path, f.Why, f.Then)
		for line := range strings.Lines(f.Content) {
			fmt.Fprint(b, strings.TrimRight("    "+line, " \n")+"\n")
		}
	}
	return b.Flush()
}

func (p BootPlan) writeWords(b *bufio.Writer) {
	for _, q := range p.Parameters {
		state := "new "
		if q.Present {
			state = "kept"
		}
		fmt.Fprintf(b, "  %s  %s\n        %s\n", state, q, q.Why)
	}
	for _, r := range p.Replaced {
		fmt.Fprintf(b, "  gone  %s\n", text.Printable(r.Was))
		if r.By != "" {
			fmt.Fprintf(b, "        replaced by %s\n", r.By)
		}
	}
	for _, l := range p.LeftOut {
		fmt.Fprintf(b, "  none  %s\n        %s\n", l.Name, l.Reason)
	}
}
