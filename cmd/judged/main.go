// Command judged judges contest solutions and proves that its clock is fair.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"judged/internal/stage"
)

func main() {
	// Before flags, logs or metrics exist: this process may be the first of
	// a sandbox and has to stay small.
	if stage.IsInit() {
		stage.Main()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
