// Command judged-init is the first process of every sandbox. judged carries it
// inside itself and is the only one to start it; package stage tells what it
// does. It is a program of its own because its start is paid for each run: a
// Go program that links HTTP, NATS and Prometheus starts three times slower.
package main

import (
	"os"

	"judged/internal/stage"
)

func main() {
	if stage.IsInit() {
		stage.Main()
	}
	os.Stderr.WriteString("judged-init is started by judged only; see judged help\n")
	os.Exit(2)
}
