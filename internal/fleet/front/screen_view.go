package front

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/jobs"
)

// screenViewFor is the maximum age of a front's view.
const screenViewFor = 5 * time.Second

// screenView is the stored state of all screening pools.
type screenView struct {
	nodes []api.Node
	pools map[string]*screenedPool
}

// screenedPool is a screening pool.
type screenedPool struct {
	gate    gate
	learned map[class]ratios
}

// gate records whether a pool is closed, since when, and the reason.
type gate struct {
	Closed bool      `json:"closed"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// since returns the time from which ratios count.
func (g gate) since() time.Time {
	if g.Closed {
		return time.Time{}
	}
	return g.At
}

// class identifies what a ratio of times applies to.
type class struct {
	pool, language      string
	screening, deciding string // fingerprints
}

// classOf returns the class of two reports, or false if a host has no fingerprint.
func classOf(pool, language string, screening, deciding api.Report) (class, bool) {
	if screening.Host == nil || deciding.Host == nil {
		return class{}, false
	}
	c := class{pool, language, screening.Host.Fingerprint, deciding.Host.Fingerprint}
	return c, c.screening != "" && c.deciding != ""
}

func (c class) String() string {
	return fmt.Sprintf("%s %s %s %s", c.pool, cmp.Or(c.language, "-"), c.screening, c.deciding)
}

func parseClass(text string) (c class, err error) {
	_, err = fmt.Sscanf(text, "%s %s %s %s", &c.pool, &c.language, &c.screening, &c.deciding)
	if c.language == "-" {
		c.language = ""
	}
	return c, err
}

// ratios summarizes the ratios of a class.
type ratios struct {
	pairs    int
	learned  float64 // smallest of the pairs, as a logarithm
	smallest float64 // smallest of the pairs and the checks, as a logarithm
}

// look returns the stored state, at most viewFor old.
func (s *Screen) look(ctx context.Context) (*screenView, error) {
	return s.seen.Get(ctx, s.o.Now, screenViewFor, func(ctx context.Context) (*screenView, error) {
		nodes, err := s.o.Nodes.Nodes(ctx)
		if err != nil {
			return nil, err
		}
		v := &screenView{nodes: nodes, pools: map[string]*screenedPool{}}
		for name, decider := range s.deciders {
			if v.pools[name], err = s.readPool(ctx, name, decider); err != nil {
				return nil, err
			}
		}
		return v, nil
	})
}

func (s *Screen) readPool(ctx context.Context, name, decider string) (*screenedPool, error) {
	p := &screenedPool{learned: map[class]ratios{}}
	if _, err := s.o.Store.Value(ctx, &p.gate, jobs.OperatorValues, gateValue, name); err != nil {
		return nil, err
	}
	learned, err := s.o.Store.Ratios(ctx, name, jobs.Learning, p.gate.since())
	if err != nil {
		return nil, err
	}
	for _, r := range learned {
		if c, err := parseClass(r.Class); err == nil {
			p.learned[c] = ratios{r.Pairs, r.SmallestLog, r.SmallestLog}
		}
	}
	checks, err := s.o.Store.Ratios(ctx, decider, jobs.Check, p.gate.since())
	if err != nil {
		return nil, err
	}
	for _, r := range checks {
		c, err := parseClass(r.Class)
		if known, found := p.learned[c]; err == nil && found {
			known.smallest = min(known.smallest, r.SmallestLog)
			p.learned[c] = known
		}
	}
	return p, nil
}

// fingerprints returns the fingerprints of the judging nodes of a pool.
func (v *screenView) fingerprints(pool string) (all []string) {
	for _, n := range v.nodes {
		if n.Pool == pool && n.Judging() && !slices.Contains(all, n.Fingerprint) {
			all = append(all, n.Fingerprint)
		}
	}
	return all
}

// judges reports whether a pool has a judging node.
func (v *screenView) judges(pool string) bool { return len(v.fingerprints(pool)) > 0 }

// smallest returns the smallest ratio of a host of a screening pool to any judging host of the deciding pool, or 0 if
// one of the ratios is not known from enough pairs.
func (v *screenView) smallest(name, decider, language, host string, enough int) float64 {
	p, deciding := v.pools[name], v.fingerprints(decider)
	if p.gate.Closed || host == "" || len(deciding) == 0 {
		return 0
	}
	log := math.Inf(1)
	for _, d := range deciding {
		r := p.learned[class{name, language, host, d}]
		if r.pairs < enough {
			return 0
		}
		log = min(log, r.smallest)
	}
	return math.Exp(log)
}
