package front

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"judged/internal/api"
)

const (
	prefetchValue = "prefetch"
	// prefetchFor is the maximum age of the copy of the requests.
	prefetchFor = api.RegisterEvery
)

// SetPrefetch makes the nodes of a pool fetch blobs. Without blobs it ends the previous request.
func (r *Registry) SetPrefetch(ctx context.Context, pool string, blobs []api.Blob) error {
	r.prefetches.Forget() // another front may have stored a request since then
	last, err := r.PrefetchStatus(ctx, pool)
	if err != nil {
		return err
	}
	p := api.Prefetch{ID: rand.Text(), At: r.now().UTC(), Blobs: blobs}
	if !p.At.After(last.At) { // the clock of the front that stored it is ahead
		p.At = last.At.Add(time.Nanosecond)
	}
	defer r.prefetches.Forget()
	return r.values.SetValue(ctx, p, prefetchValue, pool)
}

// PrefetchStatus returns the progress of the nodes of a pool.
func (r *Registry) PrefetchStatus(ctx context.Context, pool string) (api.PrefetchStatus, error) {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return api.PrefetchStatus{}, err
	}
	p, err := r.prefetch(ctx, pool)
	if err != nil {
		return api.PrefetchStatus{}, err
	}
	status := api.PrefetchStatus{Pool: pool, At: p.At, Blobs: len(p.Blobs), Size: p.Size(), Nodes: []api.PrefetchedNode{}}
	for _, n := range nodes {
		if n.Pool != pool {
			continue
		}
		one := api.PrefetchedNode{Node: n.Name, Up: n.Up}
		if n.Prefetch != nil && n.Prefetch.ID == p.ID {
			one.Blobs, one.Error = n.Prefetch.Blobs, n.Prefetch.Error
		}
		one.Done = one.Blobs == len(p.Blobs)
		status.Nodes = append(status.Nodes, one)
	}
	if len(status.Nodes) == 0 {
		return status, fmt.Errorf("pool %q: %w", pool, api.ErrUnknownPool)
	}
	return status, nil
}

// pendingPrefetch returns the request of a pool that a node has not received yet, or nil.
func (r *Registry) pendingPrefetch(ctx context.Context, g api.Registration) (*api.Prefetch, error) {
	p, err := r.prefetch(ctx, g.Pool)
	if err != nil || p.ID == "" || g.Prefetch != nil && g.Prefetch.ID == p.ID {
		return nil, err
	}
	return &p, nil
}

func (r *Registry) prefetch(ctx context.Context, pool string) (api.Prefetch, error) {
	all, err := r.prefetches.Get(ctx, r.now, prefetchFor, func(ctx context.Context) (map[string]api.Prefetch, error) {
		all := map[string]api.Prefetch{}
		return all, readValues(ctx, r.values, all, prefetchValue)
	})
	return all[pool], err
}
