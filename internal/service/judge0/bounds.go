package judge0

import (
	"time"

	"judged/internal/base/config"
	"judged/internal/base/units"
)

// Defaults and limits of Judge0 that judged has no setting for.
const (
	defaultRuns      = 1
	maxRuns          = 20
	defaultExtraTime = 1
	maxExtraTime     = 5
	minMemory        = 2048 // KiB
	maxBatch         = 20
	defaultPage      = 20
)

// kib is the unit of sizes in Judge0, which calls it kB.
const kib units.Bytes = 1024

// maxExtracted is the maximum size of additional files after decompression.
const maxExtracted = 10240 * kib

// bounds holds the defaults and maxima of submissions. The defaults are those of Judge0, the maxima those of judged.
type bounds struct {
	CPUTime, DefaultCPUTime     float64 // seconds
	WallTime, DefaultWallTime   float64
	Memory, DefaultMemory       int64 // KiB
	Stack, DefaultStack         int64
	FileSize, DefaultFileSize   int64
	Processes, DefaultProcesses int
	Runs                        int
}

func boundsOf(c config.Config) bounds {
	most := c.Limits.Max
	seconds := func(d time.Duration) float64 { return d.Seconds() }
	inKiB := func(n units.Bytes) int64 { return int64(n / kib) }
	b := bounds{CPUTime: seconds(most.CPUTime), WallTime: seconds(most.WallTime), Memory: inKiB(most.Memory),
		Stack: inKiB(most.Memory), FileSize: inKiB(min(most.Output, most.Keep)), Processes: most.Processes,
		Runs: min(maxRuns, most.Repeats)}
	b.DefaultCPUTime, b.DefaultWallTime = min(5, b.CPUTime), min(10, b.WallTime)
	b.DefaultMemory, b.DefaultStack = min(128000, b.Memory), min(64000, b.Stack)
	b.DefaultFileSize, b.DefaultProcesses = min(1024, b.FileSize), min(60, b.Processes)
	return b
}
