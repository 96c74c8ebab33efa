package render

import (
	"fmt"
	"io"
	"strings"

	"judged/internal/api"
	"judged/internal/base/text"
)

// Words explains the words about time in a report: every cause, and the values
// of confidence, decided_by and fault.
func Words() string {
	var b strings.Builder
	for _, line := range text.Wrap("Every run in a report lists the causes that disturbed it. A cause that a program "+
		"can produce by itself "+
		"explains nothing, so that no program can force a repeat. Every other cause explains a bounded amount of time. "+
		"A run over "+
		"the limit is set aside only if the measured time minus the explained time is within the limit. It counts after "+
		"all if the runs over the limit agree: noise does not add the same amount every time. What is not settled three "+
		"runs later than on a quiet host is IE, with the cause.", text.PageWidth, 0) {
		fmt.Fprintln(&b, line)
	}
	b.WriteString("\nCauses (disturbed):\n")
	for _, e := range api.Catalogue() {
		fmt.Fprintf(&b, "\n  %s\n", e.Cause)
		causeLines(&b, e)
	}
	for _, l := range api.WordLists() {
		b.WriteByte('\n')
		wordLines(&b, l)
	}
	return b.String()
}

// Cause explains one cause.
func Cause(e api.CauseEntry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: a cause of a disturbed run\n\n", e.Cause)
	causeLines(&b, e)
	return b.String()
}

// WordList explains the values of one member of a report.
func WordList(l api.WordList) string {
	var b strings.Builder
	wordLines(&b, l)
	return b.String()
}

func wordLines(w io.Writer, l api.WordList) {
	fmt.Fprintf(w, "%s (%s):\n\n", l.About, l.Member)
	for _, m := range l.Words {
		entry(w, m.Word, m.Means)
	}
}

func causeLines(w io.Writer, e api.CauseEntry) {
	entry(w, "seen", e.Means)
	entry(w, "lengthens", string(e.Adds))
	if e.Explains() {
		entry(w, "explains", "a bounded amount of time; a program cannot produce it")
	} else {
		entry(w, "explains", "nothing, because a program can produce it: "+e.SelfMade)
	}
	entry(w, "remedy", e.Remedy)
}

// entry prints a word and its explanation in two columns.
func entry(w io.Writer, word, line string) {
	const indent, column = 4, 12
	for i, part := range text.Wrap(line, text.PageWidth-indent-column, 0) {
		if i > 0 {
			word = ""
		}
		fmt.Fprintf(w, "%*s%-*s%s\n", indent, "", column, word, part)
	}
}

// paragraph prints text wrapped for the screen. Continuation lines are indented, to distinguish them from other lines.
func paragraph(w io.Writer, s text.Screen, line string) {
	for _, part := range s.Wrap(line, 0, 2) {
		fmt.Fprintln(w, part)
	}
}
