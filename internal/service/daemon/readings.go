package daemon

import (
	"context"

	"judged/internal/engine"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
)

// readings runs canaries on the workers of the engine.
type readings struct {
	*measure.Canary
	eng *engine.Engine
}

// Read prepares the worker for the next job afterwards.
func (r readings) Read(ctx context.Context, slot slots.Slot, kernel string) (measure.Reading, error) {
	worker := r.eng.Worker(slot)
	defer worker.Tidy()
	return r.Canary.Read(ctx, worker, kernel)
}
