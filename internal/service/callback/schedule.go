package callback

import (
	"math/rand/v2"
	"time"
)

const (
	// DisabledAfter is the number of consecutive failed tries after which a receiver is disabled. With the pauses
	// between them, that takes about 18 hours.
	DisabledAfter = 20
	// DisabledFor is how long a receiver stays disabled, unless an operator enables it. Then it has one try, and is
	// disabled again if that fails.
	DisabledFor = 24 * time.Hour

	pausedAfter  = 5 // consecutive failed tries
	firstPause   = 10 * time.Second
	longestPause = 3 * time.Hour
)

// receiverPause returns the pause of a receiver after consecutive failed tries, and whether it is disabled for that
// time. The pause doubles each time. Before the first pause, only the failed callbacks wait.
func receiverPause(failures int) (pause time.Duration, disabled bool) {
	switch {
	case failures >= DisabledAfter:
		return DisabledFor, true
	case failures < pausedAfter:
		return 0, false
	}
	pause = firstPause
	for range failures - pausedAfter {
		pause = min(2*pause, longestPause)
	}
	return jitter(pause), false
}

// jitter varies a pause by up to a fifth, so that the tries of many callbacks do not coincide.
func jitter(d time.Duration) time.Duration {
	return d - d/5 + time.Duration(rand.Int64N(int64(2*d/5)+1))
}
