package api

import "time"

// SlotStatus is the state of one slot as operators see it.
type SlotStatus struct {
	CPUs   string    `json:"cpus"` // kernel list
	Node   int       `json:"numa_node"`
	State  string    `json:"state"`            // idle, busy, draining, drained, quarantined
	Cause  HoldCause `json:"cause,omitempty"`  // reason why it is draining, drained or quarantined
	Reason string    `json:"reason,omitempty"` // the same as text for people
	Since  time.Time `json:"since"`            // when it entered this state
	// Judgehost is the name of the slot at the DOMjudge server that it judges for.
	Judgehost string `json:"judgehost,omitempty"`
	// JudgehostEnabled is whether that server has enabled it, nil while that is unknown.
	JudgehostEnabled *bool `json:"judgehost_enabled,omitempty"`
}

// HoldCause is the kind of a hold: who took the slot out of use, and who can return it.
type HoldCause string

// The causes. A slot can have several; it is in use if it has none.
const (
	HoldQuarantine HoldCause = "quarantine" // its reference kernels or runs deviate
	HoldOperator   HoldCause = "operator"   // an operator drained it
	HoldUnfitHost  HoldCause = "unfit-host" // the host does not meet the requirements of strict mode
)
