package main

import (
	"os"
	"testing"

	"judged/internal/testkit"
)

// asDemo makes the test binary run as the demo, because signals and orphans concern a whole process.
const asDemo = "JUDGED_DEMO_UNDER_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asDemo) != "" {
		main()
	}
	os.Exit(testkit.Run(m))
}
