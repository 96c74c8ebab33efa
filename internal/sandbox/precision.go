package sandbox

import (
	"time"

	"judged/internal/cpuset"
	"judged/internal/linux"
)

// precision is how long before a limit the supervisor of a run on these CPUs takes
// a thread to wait with the kernel's precision, by when the runtime must have woken
// it. Its threads are ordinary ones, some with a millisecond of timer slack
// (linux.CalmMonitor), and late by a slice or two of a run that takes all CPUs that
// this thread may have.
func precision(cpus cpuset.Set) (time.Duration, error) {
	ours, err := linux.Affinity()
	if err != nil {
		return 0, err
	}
	if cpuset.New(ours...).IsSubsetOf(cpus) {
		return 20 * time.Millisecond, nil
	}
	return 3 * time.Millisecond, nil
}
