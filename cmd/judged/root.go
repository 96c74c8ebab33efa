package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// The exit codes of all commands.
const (
	exitYes   = 0 // accepted, ready, done
	exitNo    = 1 // any other verdict, not ready, findings
	exitUsage = 2 // wrong usage or unusable input
	exitFault = 3 // judged itself could not do its work
)

// errNo ends a command whose answer is no. It has been told already.
var errNo = errors.New("no")

// usageError is wrong usage or input that cannot be used.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// app is what all commands have in common.
type app struct {
	stop   func() // gives signals their default meaning back: the second one ends
	in     io.Reader
	out    io.Writer
	err    io.Writer
	config string // file
}

// run is the whole program: arguments in, exit code out.
func run(ctx context.Context, stop func(), args []string, in io.Reader, out, errOut io.Writer) int {
	a := &app{stop: stop, in: in, out: out, err: errOut}
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage *usageError
	switch {
	case err == nil:
		return exitYes
	case errors.Is(err, errNo):
		return exitNo
	case errors.As(err, &usage):
		fmt.Fprintln(errOut, "judged: "+oneLine(err))
		return exitUsage
	}
	fmt.Fprintln(errOut, "judged: "+oneLine(err))
	return exitFault
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "judged",
		Short: "Judge contest solutions with a clock that is provably fair",
		Long: `judged runs contest solutions in a sandbox on reserved CPUs, repeats them where
time decides, and tells with every verdict what disturbed the measurement.

Exit codes: 0 yes (accepted, ready, done), 1 no (any other verdict, not ready),
2 wrong usage or unusable input, 3 judged itself could not do its work.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; see judged help", args[0])
			}
			return cmd.Help()
		},
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.PersistentFlags().StringVarP(&a.config, "config", "c", "", "configuration `FILE`; none uses the defaults")
	root.AddCommand(a.serveCommand(), a.runCommand(), a.doctorCommand(), a.submitCommand(), a.statusCommand(),
		a.watchCommand(), a.cancelCommand(), a.versionCommand())
	return root
}

// exactly refuses another number of arguments with the exit code of usage.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s takes %s, got %d arguments; see %s --help", cmd.CommandPath(), what, len(args), cmd.CommandPath())
		}
		return nil
	}
}

// logger writes to stderr, where everything meant for people goes.
func (a *app) logger(level, format string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: l}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(a.err, options))
	}
	return slog.New(slog.NewTextHandler(a.err, options))
}

// isTerminal reports whether people watch w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
