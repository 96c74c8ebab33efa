package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Error codes of JetStream that say why nothing can be stored.
const (
	codeInsufficient = 10023 // insufficient resources
	codeNoMemory     = 10028
	codeNoStorage    = 10047
	codeStoreFailed  = 10077 // the write itself failed, for example ENOSPC
)

// Explain adds to an error of JetStream where the data is and what to do next,
// for the errors that an operator can act on. It returns other errors and nil
// as they are, and always keeps err in the chain.
func (b *Broker) Explain(err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api) && full(api.ErrorCode):
		return fmt.Errorf("%w: %s cannot store more: free disk space there, then restart judged", err, b.name())
	case b.health.Err() != nil && !b.closed.Load():
		return fmt.Errorf("%w: %s cannot store more (%w): free disk space there, then restart judged", err, b.name(), context.Cause(b.health))
	case b.Embedded() && b.server != nil && !b.closed.Load() && !b.server.JetStreamEnabled():
		return fmt.Errorf("%w: JetStream %s has stopped itself: free disk space there, then restart judged", err, b.name())
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %s takes at most %d bytes a message: ask for fewer repeats, or raise max_payload of the cluster", err, b.name(), b.MaxPayload())
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return fmt.Errorf("%w: JetStream of %s does not answer: check the cluster", err, b.name())
	}
	return err
}

func full(code jetstream.ErrorCode) bool {
	switch code {
	case codeInsufficient, codeNoMemory, codeNoStorage, codeStoreFailed:
		return true
	}
	return false
}
