package front

import (
	"context"
	"maps"
	"slices"

	"judged/internal/api"
	"judged/internal/jobs"
)

// Pools returns by name the pools that are configured, that nodes have registered with, and that jobs wait for.
func (r *Registry) Pools(ctx context.Context, waiting jobs.Depths) ([]api.Pool, error) {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	byName := map[string]api.Pool{}
	for _, name := range slices.Concat(r.pools, slices.Collect(maps.Keys(waiting))) {
		byName[name] = api.Pool{Name: name}
	}
	for slot := range r.reserve(nodes) {
		p := byName[slot.pool]
		p.ContestSlots++
		byName[slot.pool] = p
	}
	for _, n := range nodes {
		p := byName[n.Pool]
		p.Name = n.Pool
		p.Nodes++
		if n.Judging() {
			p.Judging++
			p.Slots += len(n.Slots)
		}
		byName[n.Pool] = p
	}
	list := []api.Pool{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		p := byName[name]
		for _, n := range waiting[name] {
			p.Waiting += n
		}
		list = append(list, p)
	}
	return list, nil
}
