// Command judged-init starts the processes of sandboxes. judged carries it
// inside itself and is the only one to start it; package initproc says what it
// does. It is a separate program because every sandbox is a fork of it, and a
// fork copies what a program has in memory.
package main

import (
	"os"

	"judged/internal/sandbox/initproc"
)

func main() {
	if initproc.IsInit() {
		initproc.Main()
	}
	os.Stderr.WriteString("judged-init is started by judged only; see judged help\n")
	os.Exit(2)
}
