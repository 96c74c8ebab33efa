package jury

import (
	"time"

	"judged/internal/api"
)

// grace is how long a program may run after the jury's program has rejected it. It suffices to read the end of the
// input and exit. The verdict cannot change any more, so the program should not use more of the slot's time.
const grace = 100 * time.Millisecond

// stopIfRejected stops the contestant's programs after grace if the final result of the jury's program rejects them. An
// accepted program can still crash or reach a limit, so it keeps its limits.
func stopIfRejected(said api.CheckReport, stop func()) {
	if said.Rejects() {
		time.AfterFunc(grace, stop)
	}
}
