package front

import (
	"context"
	"time"

	"judged/internal/api"
)

// slotName names a slot of a fleet.
type slotName struct{ pool, node, cpus string }

// reservedFor is the maximum age of the choice of slots for contests.
const reservedFor = 5 * time.Second

// ReserveForContests sets the percentage of each pool's slots that judge only contest jobs. Call it before using the
// registry.
func (r *Registry) ReserveForContests(percent map[string]int) { r.contestPercent = percent }

// Reserves reports whether a pool has slots for contest jobs only.
func (r *Registry) Reserves(pool string) bool { return r.contestPercent[pool] > 0 }

// Reserved reports whether a slot judges only contest jobs.
func (r *Registry) Reserved(ctx context.Context, pool, node, cpus string) (bool, error) {
	if !r.Reserves(pool) {
		return false, nil
	}
	reserved, err := r.reserved.Get(ctx, r.now, reservedFor, func(ctx context.Context) (map[slotName]bool, error) {
		nodes, err := r.Nodes(ctx)
		return r.reserve(nodes), err
	})
	return reserved[slotName{pool, node, cpus}], err
}

// reserve chooses the slots for contests: the first ones of each pool, ordered by node and slot, so that all fronts
// choose the same. The number is rounded up, and below 100 % one slot is left for other jobs.
func (r *Registry) reserve(nodes []api.Node) map[slotName]bool {
	inUse := map[string][]slotName{}
	for _, n := range nodes {
		if !n.Judging() || !r.Reserves(n.Pool) {
			continue
		}
		for _, s := range n.Slots {
			if s.State == "idle" || s.State == "busy" {
				inUse[n.Pool] = append(inUse[n.Pool], slotName{n.Pool, n.Name, s.CPUs})
			}
		}
	}
	reserved := map[slotName]bool{}
	for pool, list := range inUse {
		percent := r.contestPercent[pool]
		count := (len(list)*percent + 99) / 100
		if percent < 100 {
			count = min(count, len(list)-1)
		}
		for _, slot := range list[:count] {
			reserved[slot] = true
		}
	}
	return reserved
}
