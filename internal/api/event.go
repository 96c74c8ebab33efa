package api

import "time"

// Event is one step of a job in the event feed. The last event of a job has its whole report.
type Event struct {
	Seq    uint64      `json:"seq"` // position in the feed, set by the store; a reader can resume after it
	Job    string      `json:"job"`
	Type   EventType   `json:"type"`
	At     time.Time   `json:"at"`
	Test   *TestReport `json:"test,omitempty"`   // for type test, without runs
	Report *Report     `json:"report,omitempty"` // for types done and cancelled
	CPUs   string      `json:"cpus,omitempty"`   // for type running

	// Of the job, in the feed of all jobs.
	Tenant string            `json:"tenant,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// EventType is the type of an event.
type EventType string

// The events, in the order in which a job emits them; test repeats, and running may occur again after a crash of
// judged.
const (
	EventQueued    EventType = "queued"
	EventRunning   EventType = "running"
	EventTest      EventType = "test"
	EventDone      EventType = "done"
	EventCancelled EventType = "cancelled"
)
