package jury

import (
	"time"

	"judged/internal/api"
)

// grace is how long a program may run after the jury's has rejected it: enough to read the end of its input and to exit.
// Its verdict does not change any more, so it is not worth more of the slot's time.
const grace = 100 * time.Millisecond

// stopIfRejected ends the contestant's programs soon if what the jury's program said at its end is not in their favor. A
// program that was accepted can still crash or reach a limit, and keeps the limits that it has.
func stopIfRejected(said api.CheckReport, stop func()) {
	if said.Verdict.Failed() {
		time.AfterFunc(grace, stop)
	}
}
