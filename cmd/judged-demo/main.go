// Command judged-demo is make demo: it starts a daemon on a free port, submits
// programs with known verdicts to it over HTTP, and shows what came of them. With
// -fleet it is make demo-fleet: two fronts on one PostgreSQL, and three judges.
// What it started and made is gone when it ends, also after Ctrl-C.
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
	exitNo    = 1 // one was not, or something was left behind
	exitUsage = 2 // wrong flags, or this machine cannot run the demo
	exitFault = 3 // judged or the demo could not do its work
)

func main() {
	// The daemon gets a signal when the thread ends that started it, and
	// this is the only thread that lives as long as the demo.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errNo ends a demo whose answer is no. The answer is printed already.
var errNo = errors.New("no")

// needError is something that is missing here.
type needError struct{ err error }

func (e *needError) Error() string { return e.err.Error() }
func (e *needError) Unwrap() error { return e.err }

func needf(format string, args ...any) error { return &needError{fmt.Errorf(format, args...)} }

// run is the whole program: arguments in, exit code out.
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
