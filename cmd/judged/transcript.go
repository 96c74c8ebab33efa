package main

import (
	"fmt"
	"os"
	"strings"

	"judged/internal/api"
	"judged/internal/service/render"
)

// writeTranscript writes the transcripts of a report as text, with a line for each write of either side.
func writeTranscript(path string, r api.Report) error {
	var b strings.Builder
	for _, t := range r.Tests {
		if t.Transcript == nil {
			continue
		}
		fmt.Fprintf(&b, "# test %s: %s; %s\n", render.Printable(t.Name), t.Verdict, t.Transcript.Note)
		for _, l := range t.Transcript.Lines {
			for text := range strings.Lines(l.Text) {
				fmt.Fprintf(&b, "%10.6f %10s: %s\n", l.Time.Seconds(), l.From,
					render.Printable(strings.TrimSuffix(text, "\n")))
			}
		}
		if t.Transcript.Truncated {
			b.WriteString("# there was more\n")
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write transcript: %w", err)
	}
	return nil
}
