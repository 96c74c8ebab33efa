package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"judged/internal/jobs"
	"judged/internal/jobs/client"
)

// ErrUnknownPool means that a pool is not configured, and that no node of it has registered.
var ErrUnknownPool = errors.New("no such pool")

// Pool is what a pool has now.
type Pool struct {
	Name    string `json:"name"`
	Nodes   int    `json:"nodes"`
	Judging int    `json:"judging"` // nodes that are up, ready and not drained
	Slots   int    `json:"slots"`   // of these
	Waiting int    `json:"waiting"`
}

// PoolList is the answer of GET /v1/pools.
type PoolList struct {
	Pools []Pool `json:"pools"`
}

// Pools lists by name the pools that are configured, that nodes have registered with, and that jobs wait for.
func (r *Registry) Pools(ctx context.Context, waiting jobs.Depths) ([]Pool, error) {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	byName := map[string]Pool{}
	for _, name := range slices.Concat(r.pools, slices.Collect(maps.Keys(waiting))) {
		byName[name] = Pool{Name: name}
	}
	for _, n := range nodes {
		p := byName[n.Pool]
		p.Name = n.Pool
		p.Nodes++
		if n.Up && n.Ready && !n.Drained {
			p.Judging++
			p.Slots += len(n.Slots)
		}
		byName[n.Pool] = p
	}
	list := []Pool{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		p := byName[name]
		for _, n := range waiting[name] {
			p.Waiting += n
		}
		list = append(list, p)
	}
	return list, nil
}

// CheckPool returns ErrUnknownPool for a pool that jobs cannot be sent to. One without nodes accepts jobs: they wait.
func (r *Registry) CheckPool(ctx context.Context, name string) error {
	if slices.Contains(r.pools, name) {
		return nil
	}
	pools, err := r.Pools(ctx, nil)
	if err != nil {
		return err
	}
	var names []string
	for _, p := range pools {
		if p.Name == name {
			return nil
		}
		names = append(names, p.Name)
	}
	return fmt.Errorf("%w; send one of %s", ErrUnknownPool, strings.Join(names, ", "))
}

// ListPools asks a front for its pools.
func ListPools(ctx context.Context, front client.Client) ([]Pool, error) {
	list, err := client.Get[PoolList](ctx, front, "/v1/pools")
	return list.Pools, err
}
