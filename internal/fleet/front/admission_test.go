package front

import (
	"errors"
	"strings"
	"testing"
	"time"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"

	"judged/internal/jobs"
)

// TestAdmission checks nodes that register one after the other, alternately through two fronts.
func TestAdmission(t *testing.T) {
	type hardware = map[string]string
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	values := &shared{all: map[string][]byte{}}
	clock := func() time.Time { return now }
	fronts := []*Registry{NewRegistry(values, clock), NewRegistry(values, clock)}
	old := hardware{"kernel": "6.1", "model": "85", "slots": "1"}
	next := hardware{"kernel": "6.2", "model": "85", "slots": "2"}
	kernel := []api.NodeDifference{{Member: "kernel", Node: "6.2", Pool: "6.1"}}
	model := []api.NodeDifference{{Member: "model", Node: "86", Pool: "85"}}
	for i, tt := range []struct {
		name, node, pool, sum string
		hardware              hardware
		after                 time.Duration // since the previous registration
		differs               []api.NodeDifference
		admitted              bool
		admit                 bool // by an operator after the registration
	}{
		{name: "the first", node: "a", hardware: old},
		{name: "its hardware is known", node: "a"},
		{name: "equal, on other CPUs", node: "b", hardware: hardware{"kernel": "6.1", "model": "85", "slots": "3"}},
		{name: "another pool", node: "c", pool: "q", hardware: next},
		{name: "another kernel", node: "d", sum: "1", hardware: next, differs: kernel},
		{name: "still", node: "d", sum: "1", differs: kernel, admit: true},
		{name: "admitted", node: "d", sum: "1", admitted: true},
		{name: "a restart of an admitted node", node: "d", sum: "1", hardware: next, admitted: true},
		{name: "an admitted node is no example", node: "e", hardware: next, differs: kernel},
		{name: "an admitted node changes", node: "d", sum: "2", hardware: hardware{"kernel": "6.1", "model": "86"},
			differs: model},
		{name: "and becomes as the others", node: "d", sum: "3", hardware: old},
		{name: "a member changes", node: "a", hardware: next},
		{name: "as a member is now", node: "e"},
		{name: "a judge that sends no hardware", node: "f"},
		{name: "a member changes its pool", node: "c", hardware: hardware{"kernel": "5", "model": "85"},
			differs: []api.NodeDifference{{Member: "kernel", Node: "5", Pool: "6.2"}}},
		{name: "no other is left", node: "c", after: forgetAfter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			front, other := fronts[i%2], fronts[(i+1)%2]
			now = now.Add(tt.after + 2*drainedFor)
			pool := tt.pool
			if pool == "" {
				pool = "p"
			}
			c, err := front.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: tt.node}, Pool: pool, Ready: true,
				Fingerprint: tt.sum, Hardware: tt.hardware, Time: now})
			if err != nil || !c.HardwareKnown || c.Drained || c.KeptOut != keptOut(pool, tt.differs) {
				t.Errorf("commands %+v, %v", c, err)
			}
			now = now.Add(2 * drainedFor) // the other front notices
			n, err := other.node(t.Context(), tt.node)
			if diff := cmp.Diff(tt.differs, n.Differs); diff != "" || err != nil || n.Admitted != tt.admitted ||
				n.Judging() != (tt.differs == nil) {
				t.Errorf("node %+v, %v; differences (-want +got):\n%s", n, err, diff)
			}
			if out, err := other.Drained(t.Context(), tt.node); out != (tt.differs != nil) || err != nil {
				t.Errorf("gets no jobs %t, %v", out, err)
			}
			if by, err := other.Admitted(t.Context(), tt.node, tt.sum); by != tt.admitted || err != nil {
				t.Errorf("admitted %t, %v", by, err)
			}
			if tt.admit {
				if err := other.Admit(t.Context(), tt.node); err != nil {
					t.Error(err)
				}
			}
		})
	}
	again := api.Registration{Caller: api.Caller{Node: "x"}, Pool: "p", Hardware: hardware{"kernel": "7"}, Time: now}
	for range 2 { // the second time the value exists, and is stored again so that it is not deleted because of its age
		_, err := fronts[0].Seen(t.Context(), again)
		if value := string(values.all[keptOutValue+" x"]); err != nil || value == "" || strings.HasSuffix(value, " ") {
			t.Errorf("a node that is kept out sends its hardware: %q, %v", value, err)
		}
		values.all[keptOutValue+" x"] = append(values.all[keptOutValue+" x"], ' ')
	}
	if err := fronts[0].Admit(t.Context(), "nobody"); !errors.Is(err, api.ErrUnknownNode) {
		t.Errorf("admit an unknown node: %v", err)
	}
	if _, kept := values.all[jobs.OperatorValues+" node-admitted d"]; !kept {
		t.Error("the admission is not kept as what an operator has set")
	}
}

// TestEquivalence checks nodes that send times of reference kernels.
func TestEquivalence(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	values := &shared{all: map[string][]byte{}}
	front := NewRegistry(values, func() time.Time { return now })
	metal := map[string]string{"kernel": "6.1", "hypervisor": "false"}
	virtual := map[string]string{"kernel": "6.1", "hypervisor": "true"}
	times := func(program string, alu, sort time.Duration) *api.KernelTimes {
		return &api.KernelTimes{Program: program, CPUTime: map[string]time.Duration{"alu": alu, "sort": sort}}
	}
	unmeasured := &api.KernelTimes{Program: "v1"}
	const ms = time.Millisecond
	for _, tt := range []struct {
		name, node, pool string
		hardware         map[string]string
		kernels          *api.KernelTimes
		differs          []api.NodeDifference
		admit            bool // by an operator after the registration
	}{
		{name: "the first of a pool", node: "a", pool: "p", hardware: metal, kernels: unmeasured},
		{name: "new, too", node: "b", pool: "p", hardware: metal, kernels: unmeasured},
		{name: "without canaries", node: "c", pool: "p", hardware: metal},
		{name: "the first times", node: "a", pool: "p", kernels: times("v1", 100*ms, 50*ms)},
		{name: "nearly the same", node: "b", pool: "p", kernels: times("v1", 101*ms-1, 50*ms)},
		{name: "to be measured", node: "d", pool: "p", hardware: metal, kernels: unmeasured, differs: measuring()},
		{name: "not yet measured", node: "d", pool: "p", differs: measuring()},
		{name: "as the median", node: "d", pool: "p", kernels: times("v1", 102*ms-3, 50*ms)},
		{name: "a new node is slower", node: "e", pool: "p", hardware: metal, kernels: times("v1", 102*ms, 51*ms),
			differs: []api.NodeDifference{{Member: "reference kernel sort", Node: "51.00 ms, +2.0 %", Pool: "50.00 ms"}}},
		{name: "still", node: "e", pool: "p",
			differs: []api.NodeDifference{{Member: "reference kernel sort", Node: "51.00 ms, +2.0 %", Pool: "50.00 ms"}}},
		{name: "measured again, fixed", node: "e", pool: "p", kernels: times("v1", 101*ms, 50*ms)},
		{name: "a member changes", node: "e", pool: "p", hardware: metal, kernels: times("v1", 150*ms, 50*ms)},
		{name: "a member measures again", node: "e", pool: "p", kernels: unmeasured},
		{name: "and has changed", node: "e", pool: "p", kernels: times("v1", 80*ms, 50*ms)},
		{name: "a member whose first times are apart", node: "c", pool: "p", kernels: times("v1", 90*ms, 50*ms),
			differs: []api.NodeDifference{{Member: "reference kernel alu", Node: "90.00 ms, -10.9 %",
				Pool: "101.00 ms"}}, admit: true},
		{name: "admitted", node: "c", pool: "p"},
		{name: "another member without times", node: "k", pool: "p", hardware: metal},
		{name: "has another kernel", node: "k", pool: "p", hardware: map[string]string{"kernel": "6.2"}},
		{name: "and its first times", node: "k", pool: "p", kernels: times("v1", 90*ms, 50*ms)},
		{name: "a new judged", node: "f", pool: "p", hardware: metal, kernels: times("v2", 10*ms, 50*ms)},
		{name: "virtual machines", node: "g", pool: "q", hardware: virtual, kernels: times("v1", 100*ms, 50*ms)},
		{name: "vary more", node: "h", pool: "q", hardware: virtual, kernels: times("v1", 104*ms, 50*ms)},
		{name: "but not that much", node: "i", pool: "q", hardware: virtual, kernels: times("v1", 110*ms, 50*ms),
			differs: []api.NodeDifference{{Member: "reference kernel alu", Node: "110.00 ms, +5.8 %",
				Pool: "104.00 ms"}}},
		{name: "other hardware matters first", node: "j", pool: "p", hardware: virtual, kernels: times("v1", 1, 1),
			differs: []api.NodeDifference{{Member: "hypervisor", Node: "true", Pool: "false"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now = now.Add(2 * drainedFor)
			c, err := front.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: tt.node}, Pool: tt.pool,
				Ready: true, Fingerprint: "f", Hardware: tt.hardware, Kernels: tt.kernels, Time: now})
			if err != nil || !c.KernelsKnown || c.KeptOut != keptOut(tt.pool, tt.differs) {
				t.Errorf("commands %+v, %v", c, err)
			}
			n, err := front.node(t.Context(), tt.node)
			if diff := cmp.Diff(tt.differs, n.Differs); diff != "" || err != nil {
				t.Errorf("differences (-want +got):\n%s%v", diff, err)
			}
			if tt.admit {
				if err := front.Admit(t.Context(), tt.node); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestKeptOut(t *testing.T) {
	all := []api.NodeDifference{{Member: "kernel", Node: "6.2", Pool: "6.1"}, {Member: "model", Node: "86", Pool: ""}}
	for want, differs := range map[string][]api.NodeDifference{
		"": nil,
		`it differs from pool "p" (kernel: "6.2", in the pool "6.1"); make it like the others, or admit it by judged nodes ` +
			`admit`: all[:1],
		`it differs from pool "p" (kernel: "6.2", in the pool "6.1" and 1 more); make it like the others, or admit it by ` +
			`judged nodes admit`: all,
		`it measures the reference kernels that it is compared with pool "p" by, about a minute for each slot; wait, or ` +
			`admit it by judged nodes admit`: measuring(),
	} {
		if diff := cmp.Diff(want, keptOut("p", differs)); diff != "" {
			t.Errorf("reason (-want +got):\n%s", diff)
		}
	}
}
