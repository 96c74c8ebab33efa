package daemon

import (
	"context"

	"judged/internal/canary"
	"judged/internal/court"
	"judged/internal/slots"
)

// readings are canaries on the stands of the court.
type readings struct {
	*canary.Canary
	court *court.Court
}

// Read leaves the stand ready for the next job.
func (r readings) Read(ctx context.Context, slot slots.Slot, kernel string) (canary.Reading, error) {
	stand := r.court.Stand(slot)
	defer stand.Tidy()
	return r.Canary.Read(ctx, stand, kernel)
}
