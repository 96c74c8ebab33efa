// Command judged judges contest solutions and proves that its clock is fair.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"judged/internal/sandbox/initproc"
)

func main() {
	start(&app{in: os.Stdin, out: os.Stdout, err: os.Stderr}, os.Args[1:])
}

// start does not return.
func start(a *app, args []string) {
	// This must come before flags, logs and metrics: the process may be the first one of a sandbox, which stays small.
	if initproc.IsInit() {
		initproc.Main()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := a.run(ctx, args)
	stop()
	os.Exit(code)
}
