package api

import "time"

// Event is one step of a job in the event feed. The last event of a
// job carries its whole report.
type Event struct {
	Seq    uint64      `json:"seq"` // position in the feed, set by the store; resume after it
	Job    string      `json:"job"`
	Type   EventType   `json:"type"`
	At     time.Time   `json:"at"`
	Test   *TestReport `json:"test,omitempty"`   // type test, without runs
	Report *Report     `json:"report,omitempty"` // type done and cancelled
	CPUs   string      `json:"cpus,omitempty"`   // type running
}

// EventType names what happened.
type EventType string

// The events, in the order in which a job emits them; test repeats, and
// running may come again after a crash of judged.
const (
	EventQueued    EventType = "queued"
	EventRunning   EventType = "running"
	EventTest      EventType = "test"
	EventDone      EventType = "done"
	EventCancelled EventType = "cancelled"
)
