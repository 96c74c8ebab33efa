package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs"
)

// shared is a store that two registries share.
type shared struct {
	writes int
	all    map[string][]byte
}

func (s *shared) ChangeValues(ctx context.Context, _ string, f func(context.Context, jobs.ValuesTx) error) error {
	return f(ctx, s)
}

func (s *shared) Read(_ context.Context, f func(int, []byte) error, names ...[]string) error {
	for i, name := range names {
		if value, found := s.all[strings.Join(name, " ")]; found {
			if err := f(i, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *shared) Set(ctx context.Context, v any, name ...string) error {
	return s.SetValue(ctx, v, name...)
}

func (s *shared) Value(_ context.Context, v any, name ...string) (found bool, err error) {
	data, found := s.all[strings.Join(name, " ")]
	if !found {
		return false, nil
	}
	return true, json.Unmarshal(data, v)
}

func (s *shared) SetValue(_ context.Context, v any, name ...string) error {
	s.writes++
	data, err := json.Marshal(v)
	s.all[strings.Join(name, " ")] = data
	return err
}

func (s *shared) Values(_ context.Context, f func(string, []byte) error, prefix ...string) error {
	var names []string
	for name := range s.all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if last, ok := strings.CutPrefix(name, strings.Join(prefix, " ")+" "); ok {
			if err := f(last, s.all[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestRegistryLanguages checks that a front reports the languages of its nodes by pool.
func TestRegistryLanguages(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	r := NewRegistry(&shared{all: map[string][]byte{}}, func() time.Time { return now })
	if err := r.CheckLanguage(t.Context(), "p", "c"); err != nil {
		t.Errorf("a pool without nodes: %v", err)
	}
	missing := api.LanguageStatus{ID: "java", Reason: "no javac"}
	for node, list := range map[string][]api.LanguageStatus{
		"a": {{ID: "c", Available: true, Version: "12"}, missing},
		"b": {{ID: "c", Available: true, Version: "13"}, {ID: "java", Available: true, Version: "17"}},
	} {
		pool := map[string]string{"a": "p", "b": "q"}[node]
		if _, err := r.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: node}, Pool: pool,
			Languages: list}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := r.ListLanguages(t.Context())
	if diff := cmp.Diff([]api.LanguageStatus{{ID: "c", Available: true, Version: "12"},
		{ID: "java", Available: true, Version: "17"}}, list); diff != "" || err != nil {
		t.Errorf("languages (-want +got):\n%s%v", diff, err)
	}
	for _, tt := range []struct {
		pool, language string
		available      bool
	}{{"p", "c", true}, {"p", "java", false}, {"q", "java", true}, {"p", "cobol", false}, {"new", "java", true}} {
		err := r.CheckLanguage(t.Context(), tt.pool, tt.language)
		if u := (*api.LanguageUnavailableError)(nil); (err == nil) != tt.available || err != nil && !errors.As(err, &u) {
			t.Errorf("%s in pool %s: %v, want available %v", tt.language, tt.pool, err, tt.available)
		}
	}
}

// TestRegistryCompileOptions checks that a pool accepts the options that all of its nodes with the language allow.
func TestRegistryCompileOptions(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	r := NewRegistry(&shared{all: map[string][]byte{}}, func() time.Time { return now })
	c := func(available bool, options ...string) []api.LanguageStatus {
		return []api.LanguageStatus{{ID: "c", Available: available, CompileOptions: options}}
	}
	for _, n := range []struct {
		name, pool string
		list       []api.LanguageStatus
	}{{"1", "p", c(true, "-a", "-b", "-c")}, {"2", "p", c(true, "-c", "-b")}, {"3", "p", c(false)}, {"4", "old", c(true)},
		{"5", "new", nil}} {
		if _, err := r.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: n.name}, Pool: n.pool,
			Languages: n.list}); err != nil {
			t.Fatal(err)
		}
	}
	for pool, want := range map[string]string{"p": "[-b -c] true", "old": "[] true", "new": "[] false",
		"other": "[] false"} {
		options, known, err := r.CompileOptions(t.Context(), pool, "c")
		if got := fmt.Sprint(options, known); got != want || err != nil {
			t.Errorf("pool %s: %s, want %s; %v", pool, got, want, err)
		}
	}
	if _, err := r.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: "2"}, Pool: "p",
		Languages: c(true, "-b")}); err != nil {
		t.Fatal(err)
	}
	if options, _, err := r.CompileOptions(t.Context(), "p", "c"); fmt.Sprint(options) != "[-b]" || err != nil {
		t.Errorf("after a change: %q, %v", options, err)
	}
}

// TestRegistryKeepsLanguages checks that any front keeps the previous languages of a restarted node, which registers
// before it has listed its languages.
func TestRegistryKeepsLanguages(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	values := &shared{all: map[string][]byte{}}
	one, two := NewRegistry(values, clock), NewRegistry(values, clock)
	for _, step := range []struct {
		name string
		at   *Registry
		list []api.LanguageStatus
		want bool
	}{
		{"new, not listed", one, nil, false},
		{"listed", one, []api.LanguageStatus{{ID: "c", Available: true}}, true},
		{"again, not listed", one, nil, true},
		{"not listed, at another front", two, nil, true},
		{"none", two, []api.LanguageStatus{}, false},
		{"not listed after none", one, nil, false},
	} {
		now = now.Add(time.Minute)
		_, err := step.at.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: "n"}, Pool: "p",
			Languages: step.list})
		if err != nil {
			t.Fatal(err)
		}
		list, err := one.ListLanguages(t.Context())
		if err != nil || (len(list) > 0) != step.want {
			t.Errorf("%s: %v, %v, want some %t", step.name, list, err, step.want)
		}
	}
}

func TestRegistry(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	values := &shared{all: map[string][]byte{}}
	one, two := NewRegistry(values, clock), NewRegistry(values, clock)
	see := func(r *Registry, name, pool string, ready bool) api.NodeCommands {
		t.Helper()
		c, err := r.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: name}, Pool: pool, Ready: ready,
			Version: "1", Slots: []api.NodeSlot{{CPUs: "1", State: "idle"}}, Time: now.Add(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	states := func(r *Registry) map[string][3]bool {
		t.Helper()
		nodes, err := r.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := map[string][3]bool{}
		for _, n := range nodes {
			all[n.Name] = [3]bool{n.Up, n.Ready, n.Drained}
		}
		return all
	}
	if err := one.Ready(t.Context()); err == nil {
		t.Error("ready without nodes")
	}
	see(one, "a", "p", true)
	see(two, "b", "p", false)
	for range 2 { // no changes: one write each
		now = now.Add(api.RegisterEvery)
		see(one, "a", "p", true)
		see(two, "b", "p", false)
	}
	if values.writes != 2 {
		t.Errorf("%d writes, want 2", values.writes)
	}
	if diff := cmp.Diff(map[string][3]bool{"a": {true, true, false}, "b": {true, false, false}},
		states(two)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if err := two.Ready(t.Context()); err != nil {
		t.Errorf("with a node that is ready: %v", err)
	}
	if err := one.SetDrained(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	if _, kept := values.all[jobs.OperatorValues+" node-drained a"]; !kept {
		t.Errorf("the drain is not kept as what an operator has set: %v", slices.Sorted(maps.Keys(values.all)))
	}
	now = now.Add(2 * drainedFor) // the other front notices
	if c := see(two, "a", "p", true); !c.Drained {
		t.Error("the other front does not drain the node")
	}
	if err := two.Ready(t.Context()); err == nil {
		t.Error("ready with a drained and an unfit node")
	}
	now = now.Add(downAfter)
	see(two, "b", "p", true)
	if diff := cmp.Diff(map[string][3]bool{"a": {false, true, true}, "b": {true, true, false}}, states(one)); diff != "" {
		t.Errorf("nodes after a silence (-want +got):\n%s", diff)
	}
	now = now.Add(forgetAfter)
	if diff := cmp.Diff(map[string][3]bool{}, states(one)); diff != "" {
		t.Errorf("nodes after a day (-want +got):\n%s", diff)
	}
	if err := one.SetDrained(t.Context(), "c", true); !errors.Is(err, api.ErrUnknownNode) {
		t.Errorf("drain an unknown node: %v", err)
	}
}

// TestForget checks that a node that is down is not listed any more until it registers again, at any front.
func TestForget(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	values := &shared{all: map[string][]byte{}}
	one, two := NewRegistry(values, clock), NewRegistry(values, clock)
	see := func(name string) api.NodeCommands {
		t.Helper()
		commands, err := one.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: name}, Pool: "p-" + name,
			Ready: true, Fingerprint: "f"})
		if err != nil {
			t.Fatal(err)
		}
		return commands
	}
	listed := func(r *Registry) (names []string) {
		t.Helper()
		nodes, err := r.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			names = append(names, n.Name)
		}
		return names
	}
	see("gone")
	see("up")
	if err := one.SetDrained(t.Context(), "gone", true); err != nil {
		t.Fatal(err)
	}
	if err := one.Forget(t.Context(), "gone"); !errors.Is(err, api.ErrNodeInUse) {
		t.Errorf("forget a node that is up: %v", err)
	}
	now = now.Add(downAfter)
	see("up")
	for name, want := range map[string]error{"up": api.ErrNodeInUse, "nobody": api.ErrUnknownNode} {
		if err := two.Forget(t.Context(), name); !errors.Is(err, want) {
			t.Errorf("forget %q: %v, want %v", name, err, want)
		}
	}
	if err := two.CheckPool(t.Context(), "p-gone"); err != nil {
		t.Error(err)
	}
	if err := two.Forget(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	for i, r := range []*Registry{one, two} {
		if diff := cmp.Diff([]string{"up"}, listed(r)); diff != "" {
			t.Errorf("nodes at front %d (-want +got):\n%s", i, diff)
		}
	}
	if err := two.CheckPool(t.Context(), "p-gone"); !errors.Is(err, api.ErrUnknownPool) {
		t.Errorf("the pool of a forgotten node: %v", err)
	}
	if err := two.Forget(t.Context(), "gone"); !errors.Is(err, api.ErrUnknownNode) {
		t.Errorf("forget a node again: %v", err)
	}
	if c := see("gone"); !c.Drained {
		t.Error("forgetting a node has ended its drain")
	}
	if diff := cmp.Diff([]string{"gone", "up"}, listed(two)); diff != "" {
		t.Errorf("nodes after a registration (-want +got):\n%s", diff)
	}
}

// TestRecordOfAnotherVersion: a record that this version cannot decode does not hide other nodes, and is replaced when
// its node registers.
func TestRecordOfAnotherVersion(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	values := &shared{all: map[string][]byte{}}
	r := NewRegistry(values, func() time.Time { return now })
	see := func(name string, languages []api.LanguageStatus) {
		t.Helper()
		if _, err := r.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: name}, Pool: "p", Ready: true,
			Fingerprint: "f", Hardware: map[string]string{"cpu": "x"}, Languages: languages}); err != nil {
			t.Errorf("register %s: %v", name, err)
		}
	}
	list := func() string {
		nodes, err := r.Nodes(t.Context())
		text := fmt.Sprint(err)
		for _, n := range nodes {
			text += fmt.Sprintf("; %s of %s, up %t, ready %t %s", n.Name, n.Pool, n.Up, n.Ready, n.Reason)
		}
		return text
	}
	see("a", []api.LanguageStatus{{ID: "c"}})
	see("b", []api.LanguageStatus{{ID: "c"}})
	record := values.all["node b"]
	values.all["node b"] = []byte(strings.Replace(string(record), `"ready":true`, `"ready":{"since":1}`, 1))
	if diff := cmp.Diff("<nil>; a of p, up true, ready true ; b of p, up true, ready false another version of judged has "+
		"stored its ready as a JSON object; run the same version on all fronts", list()); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if got, err := r.FingerprintOf(t.Context(), "b", "other"); got != "f" || err != nil {
		t.Errorf("fingerprint %q, %v", got, err)
	}
	see("c", nil) // it is compared with a and b
	now = now.Add(writeEvery)
	see("b", nil)
	if diff := cmp.Diff("<nil>; a of p, up true, ready true ; b of p, up true, ready true ; c of p, up true, ready true ",
		list()); diff != "" {
		t.Errorf("nodes after its registration (-want +got):\n%s", diff)
	}
}

// TestDeviations checks that the history has a few estimates a day for a month.
func TestDeviations(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	start := now
	r := NewRegistry(&shared{all: map[string][]byte{}}, func() time.Time { return now })
	for range 40 * 24 {
		now = now.Add(time.Hour)
		if err := r.SetDeviation(t.Context(), "a", api.Deviation{At: now, Ratio: now.Sub(start).Hours()}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: "a"}, Pool: "p"}); err != nil {
		t.Fatal(err)
	}
	nodes, err := r.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].Deviation == nil {
		t.Fatalf("nodes %+v, %v", nodes, err)
	}
	d := nodes[0].Deviation
	oldest := now.Sub(d.History[0].At)
	if d.Ratio != 40*24 || len(d.History) != 30*4 || oldest < 29*24*time.Hour || oldest >= 30*24*time.Hour {
		t.Errorf("ratio %v, %d estimates, the oldest %v ago", d.Ratio, len(d.History), oldest)
	}
}
