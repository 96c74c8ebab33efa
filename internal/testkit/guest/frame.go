package guest

import (
	"runtime"
	"time"
)

// PlanPath is the path of the Plan in JSON.
const PlanPath = "/plan.json"

// Channel returns the serial port for Frames, one JSON text per line. The machine's first port is the console,
// to which the kernel writes. On arm64 the two ports have different drivers with separate numbers.
func Channel() string {
	if runtime.GOARCH == "arm64" {
		return "/dev/ttyS0"
	}
	return "/dev/ttyS1"
}

// BeatPeriod is the time between two beats, by the guest's clock.
const BeatPeriod = time.Second

// Plan lists everything that /init has to do.
type Plan struct {
	Commands []Command
}

// Command is a program that is run in the guest as root with empty standard input. "/init cat FILE…" reads files of the
// guest.
type Command struct {
	Name    string        // key of its Result; must be unique
	Args    []string      // Args[0] is an absolute path
	Env     []string      // if not nil, replaces the default environment
	Dir     string        // working directory; "" means /
	Timeout time.Duration // wall time in the guest; 0 means only the guest's timeout
}

// Stream is the kind of a Frame.
type Stream string

const (
	Stdout Stream = "stdout" // Data is output
	Stderr Stream = "stderr" // Data is output
	Exit   Stream = "exit"   // the command Name has ended
	Done   Stream = "done"   // all commands have ended; the last frame
	Beat   Stream = "beat"   // sent every BeatPeriod to show that the guest is alive; not part of the results
	Broken Stream = "broken" // /init has failed, see Failure; the last frame
)

// Frame is one line on the Channel. There may be a carriage return before the line feed, added by the port's
// line discipline.
type Frame struct {
	Stream Stream
	Name   string `json:",omitempty"` // name of the command
	Data   []byte `json:",omitempty"` // base64 in JSON

	// Clock belongs to Beat: the time since /init has started, by the guest's clock.
	Clock time.Duration `json:",omitempty"`

	// The following fields belong to Exit. The byte counts are the lengths of the output, so that the host
	// notices lost data.
	ExitCode    int    `json:",omitempty"` // -1 if killed or not started
	Signal      string `json:",omitempty"` // name of the signal that killed it
	StdoutBytes int64  `json:",omitempty"`
	StderrBytes int64  `json:",omitempty"`

	Failure string `json:",omitempty"` // not started, or timed out; also for Broken
}
