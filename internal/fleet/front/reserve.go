package front

import (
	"context"
	"time"

	"judged/internal/api"
)

// slotName names a slot of a fleet.
type slotName struct{ pool, node, cpus string }

// reservedFor is how old the choice of slots for contests may be.
const reservedFor = 5 * time.Second

// ReserveForContests sets by pool which part of its slots judges jobs of contests only, in percent. Call it before the
// registry is used.
func (r *Registry) ReserveForContests(percent map[string]int) { r.contestPercent = percent }

// Reserves reports whether a pool has slots for contests only.
func (r *Registry) Reserves(pool string) bool { return r.contestPercent[pool] > 0 }

// Reserved reports whether a slot judges jobs of contests only.
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

// reserve chooses the slots for contests: of each pool the first ones, in the order of nodes and of their slots, so that
// all fronts choose the same. The part is rounded up, and below 100 % one slot is left for other jobs.
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
