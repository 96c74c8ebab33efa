package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"judged/internal/base/text"
	"judged/internal/engine/problem"
	"judged/internal/service/render"
)

// The exit codes of all commands.
const (
	exitYes   = 0 // accepted, ready, done
	exitNo    = 1 // any other verdict, not ready, findings
	exitUsage = 2 // wrong usage or unusable input
	exitFault = 3 // judged itself could not do its work
)

// errNo is the error of a command that has printed a negative answer, such as a verdict other than AC.
var errNo = errors.New("no")

// usageError is wrong usage or input that cannot be used.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// app is the state that all commands share.
type app struct {
	in     io.Reader
	out    io.Writer
	err    io.Writer
	config string // file
	claims string // folder with the locks of CPUs; "" is the default
	level  slog.LevelVar
	wrong  error // of a help request, because cobra's help function returns none
}

// run is the whole program: arguments in, exit code out.
func (a *app) run(ctx context.Context, args []string) int {
	err := errors.Join(a.rootCommand(args).ExecuteContext(ctx), a.wrong)
	code := exitCode(err)
	if code > exitNo {
		if invalid := (*problem.InvalidError)(nil); code == exitUsage && errors.As(err, &invalid) {
			a.printFindings(invalid.Findings)
		}
		// The text can contain file names and messages of a daemon.
		fmt.Fprintln(a.err, render.Printable("judged: "+oneLine(err)))
	}
	return code
}

// printFindings prints the findings of a package.
func (a *app) printFindings(findings []string) {
	for _, finding := range findings {
		fmt.Fprintln(a.err, render.Printable("package: "+finding))
	}
}

func exitCode(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitYes
	case onlyNo(err):
		return exitNo
	case errors.As(err, &usage):
		return exitUsage
	}
	return exitFault
}

// onlyNo reports whether err is errNo alone. Joined with another error, such as one about leftovers of a job, that error
// decides the exit code.
func onlyNo(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !onlyNo(e) })
	}
	return errors.Is(err, errNo)
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (a *app) rootCommand(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "judged",
		Short: "Judge contest solutions with a clock that is provably fair",
		Long: `judged runs contest solutions in a sandbox on reserved CPUs, repeats them where
time decides, and reports with every verdict what disturbed the measurement.

Exit codes: 0 yes (accepted, ready, done), 1 no (any other verdict, not ready),
2 wrong usage or unusable input, 3 judged itself could not do its work.`,
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableFlagsInUseLine: true,
		Args:                  exactly(0, "no arguments"),
		PersistentPreRunE:     func(cmd *cobra.Command, _ []string) error { return emptyFlag(cmd) },
		RunE:                  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// After an unknown command all flags are unknown, too; the command is the mistake.
		left := args[min(len(args), len(strings.Fields(cmd.CommandPath()))-1):]
		if cmd.HasSubCommands() && len(left) > 0 && !strings.HasPrefix(left[0], "-") {
			if err := cmd.ValidateArgs(left[:1]); err != nil {
				return err
			}
		}
		return unknownFlag(cmd, err)
	})
	root.AddCommand(a.serveCommand(), a.runCommand(), a.verifyCommand(), a.limitCommand(), a.languagesCommand(),
		a.measureCommand(), a.doctorCommand(), a.judgehostCommand(), a.submitCommand(),
		a.statusCommand(), a.explainCommand(), a.linkCommand(),
		a.watchCommand(), a.listCommand(), a.cancelCommand(), a.deleteCommand(),
		a.rejudgeSetCommand(), a.slotsCommand(),
		a.nodesCommand(), a.drainCommand(), a.undrainCommand(),
		a.tokenCommand(), a.tuneCommand(), a.backupCommand(), a.restoreCommand(), a.versionCommand(), a.causesTopic())
	a.addHelp(root)
	root.InitDefaultCompletionCmd()
	strictCompletion(root)
	root.AddCommand(a.extraCommands(root)...)
	return root
}

// emptyFlag returns an error for a flag whose value is empty. That is rather a variable of a script that is not set, and
// judged rejudge --verdict WA --problem "$PROBLEM" would select the jobs of all problems.
func emptyFlag(cmd *cobra.Command) (err error) {
	mayBeEmpty := []string{"reason", "after", "checker-arg", "interactor-arg"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values := list.GetSlice()
			empty = len(values) == 0 || slices.Contains(values, "")
		}
		if empty && !slices.Contains(mayBeEmpty, f.Name) {
			err = usagef("--%s is empty: give a value, or leave the flag out", f.Name)
		}
	})
	return err
}

// strictCompletion makes wrong arguments of cobra's completion commands, and unknown shells, usage errors.
func strictCompletion(root *cobra.Command) {
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	completion.Args = cobra.ArbitraryArgs
	completion.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("complete for %q: unknown shell; see judged completion --help", args[0])
		}
		return cmd.Help()
	}
	for _, shell := range completion.Commands() {
		shell.Args = exactly(0, "no arguments")
	}
}

// configFlag declares the flag of commands that read the configuration.
func (a *app) configFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&a.config, "config", "c", "", "configuration `FILE`; without it the defaults apply")
}

func cpuListFlag(cmd *cobra.Command, p *string) {
	cmd.Flags().StringVar(p, "cpu-list", "", "CPUs that may be used, a `LIST` such as 2-3 or a hex mask such as 0xc "+
		"(default: configuration, else the isolated CPUs, else the last CPU)")
}

func cpusFlag(cmd *cobra.Command, p *string) {
	cmd.Flags().StringVar(p, "cpus", "", "alias of --cpu-list `LIST`")
}

// shortCPUList copies --cpus, if given, to --cpu-list.
func shortCPUList(cmd *cobra.Command, cpus string) error {
	given := cmd.Flags().Changed
	switch {
	case !given("cpus"):
		return nil
	case given("cpu-list"):
		return usagef("--cpus and --cpu-list are the same: give one")
	}
	return cmd.Flags().Set("cpu-list", cpus)
}

func rootFlag(cmd *cobra.Command, p *string) {
	cmd.Flags().StringVar(p, "root", "private",
		"`KIND` of file system that the program sees: private (copies of what it loads), host (programs and libraries, "+
			"read-only) or minimal")
}

func jsonFlag(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "json", false, "print one JSON document on stdout")
}

func (a *app) printJSON(v any) error { return a.encode(v, "  ") }

// encode prints v as JSON that is safe for a terminal.
func (a *app) encode(v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := a.out.Write(render.EscapeJSON(b.Bytes()))
	return err
}

// exactly makes any other number of arguments a usage error.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n == 0 && len(args) > 0 && cmd.HasSubCommands() {
			return unknownCommand(cmd, args[:1])
		}
		if len(args) != n {
			return usagef("%s takes %s, not %d arguments; see %s --help", cmd.CommandPath(), what, len(args),
				cmd.CommandPath())
		}
		return nil
	}
}

// logger returns a logger that writes to stderr.
func (a *app) logger(level, format string) *slog.Logger {
	if err := a.level.UnmarshalText([]byte(level)); err != nil {
		a.level.Set(slog.LevelInfo)
	}
	options := &slog.HandlerOptions{Level: &a.level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(a.err, options))
	}
	return slog.New(slog.NewTextHandler(a.err, options))
}

// isTerminal reports whether w is a terminal that can overwrite a line.
func isTerminal(w io.Writer) bool { return text.ScreenOf(w).Cursor }

// printTable prints a table on stdout.
func (a *app) printTable(t text.Table) error {
	_, err := io.WriteString(a.out, t.Format(text.ScreenOf(a.out)))
	return err
}
