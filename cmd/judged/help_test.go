package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"judged/internal/base/text"
)

// TestHelpFits: the help of every command fits into 80 columns.
func TestHelpFits(t *testing.T) {
	commands := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		commands++
		help := inProcess(t, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		if help.code != exitYes || help.stdout == "" || help.stderr != "" {
			t.Errorf("%s --help: %+v", c.CommandPath(), help)
		}
		for line := range strings.Lines(help.stdout) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > text.PageWidth {
				t.Errorf("%s --help: %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{in: strings.NewReader(""), out: new(bytes.Buffer), err: new(bytes.Buffer)}).rootCommand(nil))
	if commands < 35 {
		t.Errorf("walked %d commands only", commands)
	}
}

func TestFold(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 14))
	in := "a\nb " + words + " c\n\nFlags:\n      --f KIND   " + words + " end (default x)\n  -c   short\n  c  " + words +
		" at the end.\n  judged run " + words + "\n"
	want := "a b " + words + " c\n\nFlags:\n" +
		"      --f KIND   word word word word word word word word word word word word\n" +
		"                 word word end (default x)\n  -c   short\n" +
		"  c  " + words + " at\n     the end.\n  judged run " + words + "\n"
	if diff := cmp.Diff(want, fold(in)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestDidYouMean(t *testing.T) {
	for args, want := range map[string]string{
		"verfy p":            `unknown command "verfy" (did you mean verify?); see judged help`,
		"re":                 `unknown command "re" (did you mean rejudge or restore or run?); see judged help`,
		"frob":               `unknown command "frob"; see judged help`,
		"help verfy":         `unknown command "verfy" (did you mean verify?); see judged help`,
		"help tune plann":    `unknown command "tune plann" (did you mean plan?); see judged help`,
		"tune plann --boot":  `unknown command "tune plann" (did you mean plan?); see judged help`,
		"tune plann":         `unknown command "tune plann" (did you mean plan?); see judged help`,
		"nodes pols":         `unknown command "nodes pols" (did you mean pools?); see judged help`,
		"nodes pols --help":  `unknown command "nodes pols" (did you mean pools?); see judged help`,
		"run --tets x ./sol": `unknown flag: --tets (did you mean --tests?); see judged run --help`,
		"nodes --ulr x":      `unknown flag: --ulr (did you mean --url?); see judged nodes --help`,
		"run --frobnicate":   `unknown flag: --frobnicate; see judged run --help`,
		"run -x":             `unknown shorthand flag: 'x' in -x; see judged run --help`,
	} {
		got := inProcess(t, strings.Fields(args)...)
		if diff := cmp.Diff(ended{exitUsage, "", "judged: " + want + "\n"}, got, cmp.AllowUnexported(ended{})); diff != "" {
			t.Errorf("judged %s (-want +got)\n%s", args, diff)
		}
	}
}
