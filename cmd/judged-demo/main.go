// Command judged-demo implements make demo: it starts a daemon on a free port, submits programs with known
// verdicts over HTTP, and prints the results. With -fleet it implements make demo-fleet: two fronts with one
// PostgreSQL database, and three judges. It removes everything that it started and created when it ends, also
// after Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

// The exit codes are those of judged.
const (
	exitYes   = 0 // every verdict was as expected
	exitNo    = 1 // a verdict was not as expected, or something was left behind
	exitUsage = 2 // wrong flags, or this machine cannot run the demo
	exitFault = 3 // the demo or judged failed
)

func main() {
	// The daemon gets the parent-death signal when the thread that started it ends. Only the main thread lives
	// as long as the demo.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errNo ends the demo with exitNo. The reason has been printed already.
var errNo = errors.New("no")

// needError reports a missing requirement.
type needError struct{ err error }

func (e *needError) Error() string { return e.err.Error() }
func (e *needError) Unwrap() error { return e.err }

func needf(format string, args ...any) error { return &needError{fmt.Errorf(format, args...)} }

// run is the main function: it takes the arguments and returns the exit code.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	d := demo{out: out, err: errOut}
	flags := flag.NewFlagSet("judged-demo", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&d.judged, "judged", "bin/judged", "`PATH` of judged; the report is saved next to it")
	flags.StringVar(&d.samples, "samples", "testdata/samples.json", "`FILE` with the samples")
	flags.IntVar(&d.repeats, "repeats", 20, "how often the sieve runs")
	flags.IntVar(&d.fleet, "fleet", 0, "show two fronts and three judges with so many `JOBS` instead of the samples;\n"+
		"300 suffice to find the slow judge")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitYes
	case err != nil:
		return exitUsage // package flag has printed it
	case flags.NArg() > 0:
		err = needf("read arguments: want none, got %q; see judged-demo -help", flags.Args())
	default:
		err = d.run(ctx)
	}
	return tell(errOut, err)
}

func tell(w io.Writer, err error) int {
	var need *needError
	switch {
	case err == nil:
		return exitYes
	case errors.Is(err, errNo):
		return exitNo
	}
	fmt.Fprintln(w, "judged-demo: "+strings.TrimSpace(err.Error()))
	if errors.As(err, &need) {
		return exitUsage
	}
	return exitFault
}
