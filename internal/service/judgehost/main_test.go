package judgehost

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
	if host := os.Getenv(hostVariable); host != "" {
		hostMain(host)
		return
	}
	os.Exit(testkit.Run(m))
}
