package sandbox

import (
	"os"
	"testing"

	"judged/internal/stage"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) {
	if stage.IsInit() {
		stage.Main()
	}
	if program := os.Getenv(victimEnv); program != "" {
		os.Exit(victimMain(program))
	}
	os.Exit(testkit.Run(m))
}
