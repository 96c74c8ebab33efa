package trial

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
	os.Exit(testkit.Run(m))
}
