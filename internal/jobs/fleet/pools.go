package fleet

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"time"

	"judged/internal/client"
	"judged/internal/jobs"
)

// ErrUnknownPool means that a pool is not configured, and that no node of it has registered.
var ErrUnknownPool = errors.New("no such pool")

// Pool is what a pool has now.
type Pool struct {
	Name    string `json:"name"`
	Nodes   int    `json:"nodes"`
	Judging int    `json:"judging"` // nodes that are up, ready and not drained
	Slots   int    `json:"slots"`   // of these
	// ContestSlots are those of the slots that judge jobs of contests only.
	ContestSlots int `json:"contest_slots,omitempty"`
	Waiting      int `json:"waiting"`
	// Screen is that of a pool that another one decides for.
	Screen *Screen `json:"screen,omitempty"`
}

// Screen is what a screening pool may decide.
type Screen struct {
	DecidedBy string        `json:"decided_by"`
	Open      bool          `json:"open"`                // not closed by a check
	ChangedAt time.Time     `json:"changed_at,omitzero"` // when it was closed or opened last
	Reason    string        `json:"reason,omitempty"`    // why it is closed
	Ratios    []ScreenRatio `json:"ratios"`
}

// ScreenRatio is what is known of the times of two classes of hosts.
type ScreenRatio struct {
	Language            string  `json:"language"` // "" are programs
	Fingerprint         string  `json:"fingerprint"`
	DecidingFingerprint string  `json:"deciding_fingerprint"`
	Pairs               int     `json:"pairs"`          // submissions that both have judged
	SmallestRatio       float64 `json:"smallest_ratio"` // of a time in the screening pool and in the deciding one
	Known               bool    `json:"known"`          // from enough pairs
	KnownForContests    bool    `json:"known_for_contests"`
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

// OpenScreen asks a front to have a closed screening pool decide again.
func OpenScreen(ctx context.Context, front client.Client, pool string) ([]Pool, error) {
	list, err := client.Post[PoolList](ctx, front, "/v1/pools/"+url.PathEscape(pool)+"/open", Nothing{}, 0)
	return list.Pools, err
}

// ListPools asks a front for its pools.
func ListPools(ctx context.Context, front client.Client) ([]Pool, error) {
	list, err := client.Get[PoolList](ctx, front, "/v1/pools")
	return list.Pools, err
}
