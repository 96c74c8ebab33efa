package api

import "time"

// Link is a signed address of the page of one job. Anyone who has it can read that page until it ends, and no other.
type Link struct {
	Path  string    `json:"path"`
	Until time.Time `json:"until"`
}
