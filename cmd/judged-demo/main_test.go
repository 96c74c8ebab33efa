package main

import (
	"os"
	"testing"

	"judged/internal/testkit"
)

// asDemo makes the test binary be the demo itself: signals and orphans are of
// a process.
const asDemo = "JUDGED_DEMO_UNDER_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asDemo) != "" {
		main()
	}
	os.Exit(testkit.Run(m))
}
