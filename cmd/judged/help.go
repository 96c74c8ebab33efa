package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"judged/internal/base/text"
)

// addHelp sets the help function and command of root. Help fits a narrow terminal, and an unknown command is a usage
// error.
func (a *app) addHelp(root *cobra.Command) {
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Print the help of a command or a topic",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd, rest)
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	})
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if left := cmd.Flags().Args(); len(left) > 0 && (cmd == root || !cmd.Runnable()) {
			a.wrong = unknownCommand(cmd, left)
		} else if len(left) > 0 && cmd.HasSubCommands() {
			a.wrong = cmd.ValidateArgs(left)
		}
		if a.wrong != nil {
			return
		}
		var b bytes.Buffer
		cmd.SetOut(&b)
		help(cmd, args)
		// A closed pipe is not an error.
		_, _ = io.WriteString(a.out, fold(b.String()))
	})
}

// described matches the part of a line of help before the description of a flag or a command.
var described = text.Pattern(`^ +\S.*? {3,}|^ +\S+ {2,}`)

// fold wraps help: paragraphs, and the descriptions of flags and commands. Other indented lines, such as examples, stay
// as they are.
func fold(help string) string {
	var lines, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			lines = append(lines, text.Wrap(strings.Join(paragraph, " "), text.PageWidth, 0)...)
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(help, "\n"), "\n") {
		if line != "" && line[0] != ' ' && line[0] != '\t' {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		head := described().FindString(line)
		if len(line) <= text.PageWidth || head == "" {
			lines = append(lines, line)
			continue
		}
		for i, part := range text.Wrap(line[len(head):], text.PageWidth-len(head), 0) {
			if i > 0 {
				head = strings.Repeat(" ", len(head))
			}
			lines = append(lines, head+part)
		}
	}
	flush()
	return strings.Join(lines, "\n") + "\n"
}

// unknownCommand is the error of arguments that should begin with a subcommand of cmd.
func unknownCommand(cmd *cobra.Command, args []string) error {
	name := strings.Join(append(strings.Fields(cmd.CommandPath())[1:], args...), " ")
	return usagef("unknown command %q%s; see judged help", name, didYouMean(cmd, args[0], ""))
}

// unknownFlag adds the flags that are spelled like an unknown one to the error about it.
func unknownFlag(cmd *cobra.Command, err error) error {
	meant := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var flags cobra.Command // cobra compares the names of commands
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		})
		meant = didYouMean(&flags, unknown.GetSpecifiedName(), "--")
	}
	return usagef("%w%s; see %s --help", err, meant, cmd.CommandPath())
}

// didYouMean names the subcommands of cmd that are spelled like name.
func didYouMean(cmd *cobra.Command, name, prefix string) string {
	cmd.SuggestionsMinimumDistance = 2
	meant := cmd.SuggestionsFor(name)
	if len(meant) == 0 {
		return ""
	}
	slices.Sort(meant)
	return fmt.Sprintf(" (did you mean %s?)", prefix+strings.Join(meant, " or "+prefix))
}
