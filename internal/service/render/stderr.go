package render

import (
	"fmt"
	"io"
	"strings"

	"judged/internal/api"
	"judged/internal/base/text"
)

// Limits of the part of stderr that a report shows. The last line is shown too, because tracebacks end with the reason.
const (
	firstLines = 10
	longest    = 200 // characters per line
)

// stderr prints the stderr of the deciding test if it failed and the report quotes it.
func stderr(w io.Writer, s text.Screen, r api.Report) {
	x := decisive(r)
	if x == nil || !x.Verdict.Failed() || x.StderrHead == nil || strings.TrimSpace(*x.StderrHead) == "" {
		return
	}
	paragraph(w, s, fmt.Sprintf("stderr of test %s:", Printable(x.Name)))
	lines := strings.Split(strings.TrimRight(*x.StderrHead, "\r\n"), "\n")
	for i, line := range lines {
		switch left := len(lines) - firstLines - 1; {
		case i < firstLines || i == len(lines)-1:
			runes := []rune(strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", "    "))
			if len(runes) > longest {
				runes = append(runes[:longest], '…')
			}
			fmt.Fprintf(w, "  %s\n", Printable(string(runes)))
		case i == firstLines:
			fmt.Fprintf(w, "  … (%d more lines)\n", left)
		}
	}
}
