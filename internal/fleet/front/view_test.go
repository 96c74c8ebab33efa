package front

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"judged/internal/api"
	"judged/internal/jobs"
)

// countedReads counts how often the nodes are read, and waits while slow is not nil.
type countedReads struct {
	*shared
	nodes atomic.Int64
	slow  chan struct{}
}

func (c *countedReads) Values(ctx context.Context, f func(string, []byte) error, prefix ...string) error {
	if prefix[0] == nodeValue {
		c.nodes.Add(1)
	}
	if c.slow != nil {
		<-c.slow
	}
	return c.shared.Values(ctx, f, prefix...)
}

// TestViewOfNodes checks that a job is accepted without reading all nodes, and refused only after a recent read.
func TestViewOfNodes(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	values := &countedReads{shared: &shared{all: map[string][]byte{}}}
	clock := func() time.Time { return now }
	front, other := NewRegistry(values, clock), NewRegistry(values, clock)
	seen := func(r *Registry, node, pool, language string) {
		t.Helper()
		g := api.Registration{Caller: api.Caller{Node: node}, Pool: pool, Ready: true, Time: now,
			Languages: []api.LanguageStatus{{ID: language, Available: true}}}
		if _, err := r.Seen(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	check := func(pool, language string, wantPool, wantLanguage bool) {
		t.Helper()
		if err := front.CheckPool(t.Context(), pool); (err == nil) != wantPool ||
			err != nil && !errors.Is(err, api.ErrUnknownPool) {
			t.Errorf("pool %s: %v", pool, err)
		}
		if err := front.CheckLanguage(t.Context(), pool, language); (err == nil) != wantLanguage {
			t.Errorf("language %s in pool %s: %v", language, pool, err)
		}
	}
	check("a", "c", false, true)
	seen(front, "n1", "a", "c")
	check("a", "c", true, true) // immediately if it has registered
	check("a", "java", true, false)
	before := values.nodes.Load()
	for range 100 {
		check("a", "c", true, true)
		check("b", "java", false, true)
		check("a", "java", true, false)
	}
	if n := values.nodes.Load() - before; n != 0 {
		t.Errorf("the nodes were read %d times for 300 jobs", n)
	}
	seen(other, "n2", "b", "java")
	now = now.Add(refusedFor)
	check("b", "java", true, true) // soon if another front knows it
	now = now.Add(viewFor - time.Nanosecond)
	before = values.nodes.Load()
	check("b", "java", true, true)
	if nodes, err := front.RecentNodes(t.Context()); len(nodes) != 2 || err != nil || values.nodes.Load() != before {
		t.Errorf("%d nodes, %v, read %d times; want 2 as they were known", len(nodes), err, values.nodes.Load()-before)
	}
}

// TestWidestSlot checks that a pool takes jobs that fit into the widest slot of its nodes, which other fronts may have
// registered.
func TestWidestSlot(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	values := &shared{all: map[string][]byte{}}
	clock := func() time.Time { return now }
	front, other := NewRegistry(values, clock), NewRegistry(values, clock)
	seen := func(node, pool string, slots ...string) {
		t.Helper()
		g := api.Registration{Caller: api.Caller{Node: node}, Pool: pool, Time: now}
		for _, cpus := range slots {
			g.Slots = append(g.Slots, api.NodeSlot{CPUs: cpus, State: "drained"})
		}
		if _, err := other.Seen(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	check := func(pool string, cpus, want int) {
		t.Helper()
		if got, err := front.CheckCPUs(t.Context(), pool, cpus); got != want || err != nil {
			t.Errorf("%d CPUs in pool %s: at most %d, %v; want %d", cpus, pool, got, err, want)
		}
	}
	seen("n1", "narrow", "2", "3")
	seen("n2", "mixed", "2")
	seen("n3", "mixed", "2-3", "5,7")
	seen("n4", "none")
	for range 2 {
		check("narrow", 0, 0)
		check("narrow", 1, 0)
		check("narrow", 2, 1)
		check("mixed", 2, 0)
		check("mixed", 3, 2)
		check("none", 4, 0) // not known
		check("absent", 4, 0)
		now = now.Add(downAfter) // down, but of the pool
	}
	seen("n5", "narrow", "2-3")
	check("narrow", 2, 0)
}

// TestNobodyWaitsForAQuery checks that a caller whose deadline has passed does not wait for the read of another one.
func TestNobodyWaitsForAQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		values := &countedReads{shared: &shared{all: map[string][]byte{}}, slow: make(chan struct{})}
		r := NewRegistry(values, time.Now)
		r.ReserveForContests(map[string]int{"p": 50})
		calls := map[string]func(context.Context) error{
			"drained":   func(ctx context.Context) error { _, err := r.Drained(ctx, "n"); return err },
			"nodes":     func(ctx context.Context) error { _, err := r.Nodes(ctx); return err },
			"pool":      func(ctx context.Context) error { return r.CheckPool(ctx, "p") },
			"language":  func(ctx context.Context) error { return r.CheckLanguage(ctx, "p", "c") },
			"reserved":  func(ctx context.Context) error { _, err := r.Reserved(ctx, "p", "n", "1"); return err },
			"prefetch":  func(ctx context.Context) error { _, err := r.PrefetchStatus(ctx, "p"); return err },
			"deviation": func(ctx context.Context) error { return r.SetDeviation(ctx, "n", api.Deviation{}) },
		}
		for name, call := range calls {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			cancel()
		}
		close(values.slow)
		synctest.Wait()
		for name, call := range calls {
			if err := call(t.Context()); err != nil && !errors.Is(err, api.ErrUnknownPool) {
				t.Errorf("%s after the database is back: %v", name, err)
			}
		}
	})
}

// BenchmarkChecks measures the cost of checking the pool and the language of a job, by the number of nodes.
func BenchmarkChecks(b *testing.B) {
	for _, n := range []int{20, 300} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := jobs.Open(b.Context(), jobs.Options{File: b.TempDir() + "/judged.db"})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			r := NewRegistry(s, time.Now)
			for i := range n {
				g := api.Registration{Caller: api.Caller{Node: fmt.Sprint("node", i)}, Pool: "metal", Ready: true,
					Time: time.Now()}
				for l := range 13 {
					g.Languages = append(g.Languages, api.LanguageStatus{ID: fmt.Sprint("language", l), Available: true})
				}
				if _, err := r.Seen(b.Context(), g); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if err := r.CheckPool(b.Context(), "metal"); err != nil {
					b.Fatal(err)
				}
				if err := r.CheckLanguage(b.Context(), "metal", "language3"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestFingerprintOf checks that a report does not require reading all nodes, regardless of what the node claims.
func TestFingerprintOf(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	values := &countedReads{shared: &shared{all: map[string][]byte{}}}
	front := NewRegistry(values, func() time.Time { return now })
	g := api.Registration{Caller: api.Caller{Node: "n1"}, Pool: "a", Ready: true, Time: now, Fingerprint: "f"}
	if _, err := front.Seen(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	before := values.nodes.Load()
	for _, tt := range []struct{ node, claimed, want string }{
		{"n1", "f", "f"}, {"n1", "another", "f"}, {"n1", "", "f"}, {"unknown", "f", ""},
	} {
		if got, err := front.FingerprintOf(t.Context(), tt.node, tt.claimed); got != tt.want || err != nil {
			t.Errorf("fingerprint of %s, which claims %q: %q, %v, want %q", tt.node, tt.claimed, got, err, tt.want)
		}
	}
	if n := values.nodes.Load() - before; n != 0 {
		t.Errorf("all nodes were read %d times", n)
	}
}
