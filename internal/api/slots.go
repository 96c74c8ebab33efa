package api

import "time"

// SlotStatus is one slot as operators see it.
type SlotStatus struct {
	CPUs   string    `json:"cpus"` // kernel list
	Node   int       `json:"numa_node"`
	State  string    `json:"state"`            // idle, busy, draining, drained, quarantined
	Cause  HoldCause `json:"cause,omitempty"`  // why it is draining, drained or quarantined
	Reason string    `json:"reason,omitempty"` // the same for people
	Since  time.Time `json:"since"`            // when it entered this state
}

// HoldCause is the kind of a hold: who took the slot out of use, and who can put it
// back.
type HoldCause string

// The causes. A slot can have several; it is in use when it has none.
const (
	HoldQuarantine HoldCause = "quarantine" // its reference kernels or runs deviate
	HoldOperator   HoldCause = "operator"   // somebody drained it
	HoldUnfitHost  HoldCause = "unfit-host" // the host does not meet the requirements of strict mode
)
