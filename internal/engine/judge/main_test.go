package judge_test

import (
	"fmt"
	"io"
	"os"
	"testing"

	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) {
	if initproc.IsInit() {
		initproc.Main()
	}
	if os.Args[0] == bystanderName {
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed or its parent exits
		os.Exit(0)
	}
	os.Exit(run(m))
}

// programsDir holds the compiled programs of all tests in the package.
var programsDir string

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "judged-programs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programsDir = dir
	return testkit.Run(m)
}
