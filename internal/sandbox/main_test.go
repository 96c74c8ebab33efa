package sandbox

import (
	"os"
	"testing"

	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) {
	if initproc.IsInit() {
		initproc.Main()
	}
	if program := os.Getenv(victimEnv); program != "" {
		os.Exit(victimMain(program))
	}
	os.Exit(testkit.Run(m))
}
