// Command judged-init starts the processes of sandboxes. judged embeds it, and only judged starts it; package
// initproc describes what it does. It is a separate program because every sandbox is a fork of it, and a fork copies
// the memory of its program.
package main

import (
	"os"

	"judged/internal/sandbox/initproc"
)

func main() {
	if initproc.IsInit() {
		initproc.Main()
	}
	os.Stderr.WriteString("judged-init: only judged can start this program; see judged help\n")
	os.Exit(2)
}
