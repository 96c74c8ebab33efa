// Package wire is what the host and the guest's /init say to each other. It
// holds the words only; sending them is the two ends' business.
package wire

import (
	"runtime"
	"time"
)

// PlanPath is where /init finds its Plan as JSON.
const PlanPath = "/plan.json"

// Channel is the serial port that carries Frames, one JSON text a line. The
// machine's first port is the console, into which the kernel writes at will; on
// arm64 that one has another driver, which counts for itself.
func Channel() string {
	if runtime.GOARCH == "arm64" {
		return "/dev/ttyS0"
	}
	return "/dev/ttyS1"
}

// BeatPeriod is the time between two signs of life, by the guest's clock.
const BeatPeriod = time.Second

// Plan is everything /init has to do.
type Plan struct {
	Commands []Command
}

// Command is one program to run as root, with nothing on its standard input.
type Command struct {
	Name    string        // key of its Result; unique
	Args    []string      // Args[0] is the absolute path
	Env     []string      // instead of the default environment, when not nil
	Dir     string        // working folder; "" is /
	Timeout time.Duration // wall time of the guest; 0 leaves only the guest's
}

// Stream says what a Frame carries.
type Stream string

const (
	Stdout Stream = "stdout" // Data is output
	Stderr Stream = "stderr" // Data is output
	Exit   Stream = "exit"   // the command Name is over
	Done   Stream = "done"   // all commands are over; the last frame
	Beat   Stream = "beat"   // the guest lives; sent every BeatPeriod and not part of the results
	Broken Stream = "broken" // /init could not do its work, see Failure; the last frame
)

// Frame is one line on the Channel. A carriage return may stand before the
// line feed: the port's line discipline adds it.
type Frame struct {
	Stream Stream
	Name   string `json:",omitempty"` // of the command
	Data   []byte `json:",omitempty"` // base64 in the JSON text

	// The rest belongs to Exit. The byte counts are what was sent as output,
	// so that the host notices a lost piece.
	ExitCode    int    `json:",omitempty"` // -1 when killed or not started
	Signal      string `json:",omitempty"` // name of the signal that killed it
	StdoutBytes int64  `json:",omitempty"`
	StderrBytes int64  `json:",omitempty"`

	Failure string `json:",omitempty"` // not started, or killed for its timeout; also of Broken
}
