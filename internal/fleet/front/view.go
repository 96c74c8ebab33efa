package front

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
)

const (
	// viewFor is the maximum age of the view of the nodes that accepts a job.
	viewFor = 10 * time.Second
	// refusedFor is the maximum age of the view that refuses a job: a node may have registered since.
	refusedFor = time.Second
)

// nodesView holds what is needed about the nodes for each job, so that a job does not require reading all of them.
type nodesView struct {
	nodes     []api.Node
	languages map[string]map[string]bool     // IDs of languages by pool, for pools that nodes have registered with
	options   map[string]map[string][]string // by pool and language: options that all of its nodes allow
	widest    map[string]int                 // CPUs of the widest slot by pool
	unlisted  map[string]bool                // pools with a new node that has not listed its languages yet
}

// look returns the view of the nodes, at most age old.
func (r *Registry) look(ctx context.Context, age time.Duration) (*nodesView, error) {
	return r.view.Get(ctx, r.now, age, func(ctx context.Context) (*nodesView, error) {
		nodes, err := r.Nodes(ctx)
		v := &nodesView{nodes: nodes, languages: map[string]map[string]bool{},
			options: map[string]map[string][]string{}, unlisted: map[string]bool{},
			widest: map[string]int{}}
		for _, n := range nodes {
			if v.languages[n.Pool] == nil {
				v.languages[n.Pool], v.options[n.Pool] = map[string]bool{}, map[string][]string{}
			}
			for _, slot := range n.Slots {
				if cpus, err := cpuset.Parse(slot.CPUs); err == nil { // otherwise its node is of another version
					v.widest[n.Pool] = max(v.widest[n.Pool], len(cpus))
				}
			}
			v.unlisted[n.Pool] = v.unlisted[n.Pool] || n.Languages == nil
			for _, l := range n.Languages {
				if l.Available {
					v.addLanguage(n.Pool, l)
				}
			}
		}
		return v, err
	})
}

func (v *nodesView) addLanguage(pool string, l api.LanguageStatus) {
	options := slices.Clone(l.CompileOptions)
	if v.languages[pool][l.ID] {
		options = slices.DeleteFunc(v.options[pool][l.ID], func(o string) bool {
			return !slices.Contains(l.CompileOptions, o)
		})
	}
	v.languages[pool][l.ID], v.options[pool][l.ID] = true, options
}

// RecentNodes returns the nodes as of at most viewFor ago. The caller must not change the list.
func (r *Registry) RecentNodes(ctx context.Context) ([]api.Node, error) {
	v, err := r.look(ctx, viewFor)
	if err != nil {
		return nil, err
	}
	return v.nodes, nil
}

// find looks for a view that accepts a job, first in one that may be older.
func (r *Registry) find(ctx context.Context, accepts func(*nodesView) bool) (v *nodesView, found bool, err error) {
	for _, age := range []time.Duration{viewFor, refusedFor} {
		if v, err = r.look(ctx, age); err != nil || accepts(v) {
			return v, err == nil, err
		}
	}
	return v, false, nil
}

// CheckPool returns api.ErrUnknownPool for a pool that does not accept jobs. A pool without nodes accepts jobs; they
// wait.
func (r *Registry) CheckPool(ctx context.Context, name string) error {
	if slices.Contains(r.pools, name) {
		return nil
	}
	v, found, err := r.find(ctx, func(v *nodesView) bool { return v.languages[name] != nil })
	if err != nil || found {
		return err
	}
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.pools, slices.Collect(maps.Keys(v.languages))))))
	return fmt.Errorf("%w; send one of %s", api.ErrUnknownPool, strings.Join(names, ", "))
}

// CheckCPUs returns the CPUs of the widest slot of a pool if a job needs more, otherwise 0. A pool of which no slot is
// known accepts any job.
func (r *Registry) CheckCPUs(ctx context.Context, pool string, cpus int) (most int, err error) {
	v, found, err := r.find(ctx, func(v *nodesView) bool { return v.widest[pool] == 0 || cpus <= v.widest[pool] })
	if err != nil || found {
		return 0, err
	}
	return v.widest[pool], nil
}

// CheckLanguage returns the reason why no node of a pool compiles a language, or nil. A pool whose nodes have never
// registered or not listed their languages may have any.
func (r *Registry) CheckLanguage(ctx context.Context, pool, id string) error {
	v, found, err := r.find(ctx, func(v *nodesView) bool { return v.languages[pool][id] || v.unlisted[pool] })
	if err != nil || found || v.languages[pool] == nil {
		return err
	}
	return &api.LanguageUnavailableError{Language: id, Reason: fmt.Sprintf("no judge node of pool %q has it", pool)}
}

// CompileOptions returns the options that jobs in a language may add: those that all nodes of the pool allow. known is
// false if no node has listed its languages yet.
func (r *Registry) CompileOptions(ctx context.Context, pool, id string) (options []string, known bool, err error) {
	v, err := r.look(ctx, viewFor)
	if err != nil {
		return nil, false, err
	}
	return v.options[pool][id], v.languages[pool][id], nil
}
