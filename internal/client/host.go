package client

import (
	"context"
	"net/http"
	"net/url"

	"judged/internal/api"
)

// Slots returns the slots of the daemon.
func (c Client) Slots(ctx context.Context) ([]api.SlotStatus, error) {
	return c.slots(ctx, request{method: http.MethodGet, path: "/v1/slots"})
}

// Drain takes the slot with these CPUs (a kernel list) out of use and returns
// all slots.
func (c Client) Drain(ctx context.Context, cpus, reason string) ([]api.SlotStatus, error) {
	q := request{method: http.MethodPost, path: "/v1/slots/" + url.PathEscape(cpus) + "/drain"}
	if reason != "" {
		q.query = url.Values{"reason": {reason}}
	}
	return c.slots(ctx, q)
}

// Undrain returns the slot to use and returns all slots.
func (c Client) Undrain(ctx context.Context, cpus string) ([]api.SlotStatus, error) {
	return c.slots(ctx, request{method: http.MethodPost, path: "/v1/slots/" + url.PathEscape(cpus) + "/undrain"})
}

func (c Client) slots(ctx context.Context, q request) ([]api.SlotStatus, error) {
	list, err := call[struct {
		Slots []api.SlotStatus `json:"slots"`
	}](ctx, c, q)
	return list.Slots, err
}

// Doctor returns the report of the daemon's doctor about its host.
func (c Client) Doctor(ctx context.Context) (api.DoctorReport, error) {
	return call[api.DoctorReport](ctx, c, request{method: http.MethodGet, path: "/v1/doctor"})
}

// Waiting returns the number of waiting jobs by priority.
func (c Client) Waiting(ctx context.Context) (map[api.Priority]int, error) {
	q, err := call[queue](ctx, c, request{method: http.MethodGet, path: "/v1/queue"})
	return q.Waiting, err
}

type queue struct {
	Waiting map[api.Priority]int `json:"waiting"`
}

// Ready returns nil if the daemon accepts jobs, and otherwise a *Problem with the reason.
func (c Client) Ready(ctx context.Context) error {
	_, err := call[struct{}](ctx, c, request{method: http.MethodGet, path: "/readyz"})
	return err
}
