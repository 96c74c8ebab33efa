package front

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

// TestJoinTogether checks that nodes with two kinds of hardware can join an empty pool at the same time, through four
// fronts.
func TestJoinTogether(t *testing.T) {
	for name, fresh := range storeOptions(t) {
		t.Run(name, func(t *testing.T) {
			fronts := fronts(t, fresh)
			const nodes, pools = 8, 10 // a race does not occur in each pool
			for pool := range pools {
				start := make(chan struct{})
				var joining sync.WaitGroup
				for i := pool * nodes; i < (pool+1)*nodes; i++ {
					joining.Go(func() {
						g := registrationOf(i, i%2)
						g.Pool = fmt.Sprint("p", pool)
						<-start
						if _, err := fronts[i%len(fronts)].Seen(t.Context(), g); err != nil {
							t.Errorf("node %d joins: %v", i, err)
						}
					})
				}
				close(start)
				joining.Wait()
			}
			for _, front := range fronts {
				front.states.Forget()
				all, err := front.Nodes(t.Context())
				if err != nil || len(all) != nodes*pools {
					t.Fatalf("%d nodes, %v", len(all), err)
				}
				kinds := map[string]map[int]bool{}
				for _, n := range all {
					var i int
					if _, err := fmt.Sscanf(n.Name, "n%d", &i); err != nil {
						t.Fatal(err)
					}
					if kinds[n.Pool] == nil {
						kinds[n.Pool] = map[int]bool{}
					}
					if n.Judging() {
						kinds[n.Pool][i%2] = true
					}
				}
				for pool, found := range kinds {
					if len(found) != 1 {
						t.Errorf("nodes of %d kinds of hardware judge in pool %s", len(found), pool)
					}
				}
			}
		})
	}
}

// TestExamples checks that a pool has few examples of each kind of hardware, regardless of its size, and gets others when
// these are gone.
func TestExamples(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	values := &counted{shared: shared{all: map[string][]byte{}}}
	r := NewRegistry(values, func() time.Time { return now })
	seen := func(i, kind int) api.NodeCommands {
		t.Helper()
		c, err := r.Seen(t.Context(), registrationOf(i, kind))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const nodes = 200
	for i := range nodes {
		if c := seen(i, 0); c.KeptOut != "" {
			t.Fatalf("node %d: %s", i, c.KeptOut)
		}
		if i == 50 {
			values.most = 0
		}
	}
	if values.most > (mostAlike+1)*valuesOf+1 || values.whole > 1 {
		t.Errorf("joining read up to %d values, and all nodes %d times", values.most, values.whole)
	}
	// All examples change their hardware one after the other; the remaining nodes of the pool still decide.
	for i := range mostAlike {
		seen(i, 2)
	}
	if c := seen(nodes, 1); c.KeptOut == "" {
		t.Error("a node of other hardware joined a pool")
	}
	if c := seen(nodes+1, 0); c.KeptOut != "" {
		t.Errorf("a node like most of its pool: %s", c.KeptOut)
	}
	if c := seen(nodes+2, 2); c.KeptOut != "" {
		t.Errorf("a node like those that have changed: %s", c.KeptOut)
	}
}

// counted counts the maximum number of values that a call of Read reads, and how often all nodes are read.
type counted struct {
	shared
	most, whole int
}

func (c *counted) ChangeValues(ctx context.Context, _ string, f func(context.Context, jobs.ValuesTx) error) error {
	return f(ctx, c)
}

func (c *counted) Read(ctx context.Context, f func(int, []byte) error, names ...[]string) error {
	c.most = max(c.most, len(names))
	return c.shared.Read(ctx, f, names...)
}

func (c *counted) Values(ctx context.Context, f func(string, []byte) error, prefix ...string) error {
	if prefix[0] == hardwareValue {
		c.whole++
	}
	return c.shared.Values(ctx, f, prefix...)
}

func registrationOf(i, kind int) api.Registration {
	return api.Registration{Caller: api.Caller{Node: fmt.Sprint("n", i)}, Pool: "p", Ready: true, Fingerprint: "f",
		Time:  time.Now(),
		Slots: []api.NodeSlot{{CPUs: "1"}}, Hardware: map[string]string{"kernel": fmt.Sprint("6.", kind), "model": "85"}}
}

func fronts(t *testing.T, o jobs.Options) (all []*Registry) {
	t.Helper()
	for range 4 {
		store, err := jobs.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		all = append(all, NewRegistry(store, time.Now))
	}
	return all
}

// storeOptions returns options of both databases, if this machine has both.
func storeOptions(t *testing.T) map[string]jobs.Options {
	all := map[string]jobs.Options{"sqlite": {File: filepath.Join(t.TempDir(), "judged.db")}}
	if !testing.Short() && testkit.Has(testkit.Postgres) {
		all["postgres"] = jobs.Options{URL: testkit.StartPostgres(t, "fsync=off").Database(t)}
	}
	return all
}

// TestClocksOfFronts checks that a node that registers with a front whose clock is wrong is up for the other fronts.
func TestClocksOfFronts(t *testing.T) {
	for name, o := range storeOptions(t) {
		if o.URL == "" {
			continue // SQLite has one process
		}
		t.Run(name, func(t *testing.T) {
			var all []*Registry
			for i, offset := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
				o.Now = func() time.Time { return time.Now().Add(offset) }
				store, err := jobs.Open(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := store.Close(); err != nil {
						t.Error(err)
					}
				})
				all = append(all, NewRegistry(store, store.Now))
				if _, err := all[i].Seen(t.Context(), registrationOf(i, 0)); err != nil {
					t.Fatal(err)
				}
			}
			for i, front := range all {
				nodes, err := front.Nodes(t.Context())
				if err != nil || len(nodes) != len(all) {
					t.Fatalf("%d nodes, %v", len(nodes), err)
				}
				for _, n := range nodes {
					if !n.Up || n.SeenAt.Sub(time.Now()).Abs() > time.Minute {
						t.Errorf("for front %d node %s is up %t, seen at %v", i, n.Name, n.Up, n.SeenAt)
					}
				}
			}
		})
	}
}
