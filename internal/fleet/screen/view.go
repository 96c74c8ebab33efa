package screen

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/jobs"
)

// viewFor is how old what a front knows may be.
const viewFor = 5 * time.Second

// view is what the database says about all screening pools.
type view struct {
	nodes []api.Node
	pools map[string]*pool
}

// pool is a screening pool.
type pool struct {
	gate    gate
	learned map[class]ratios
}

// gate is what closes a pool, and when an operator opened it.
type gate struct {
	Closed bool      `json:"closed"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// since is from when on ratios count.
func (g gate) since() time.Time {
	if g.Closed {
		return time.Time{}
	}
	return g.At
}

// class is what a ratio of times is of.
type class struct {
	pool, language      string
	screening, deciding string // fingerprints
}

// classOf returns the class of two reports, false if a host has no fingerprint.
func classOf(pool, language string, screening, deciding api.Report) (class, bool) {
	if screening.Host == nil || deciding.Host == nil {
		return class{}, false
	}
	c := class{pool, language, screening.Host.Fingerprint, deciding.Host.Fingerprint}
	return c, c.screening != "" && c.deciding != ""
}

func (c class) String() string {
	return fmt.Sprintf("%s %s %s %s", c.pool, orDash(c.language), c.screening, c.deciding)
}

func parseClass(text string) (c class, err error) {
	_, err = fmt.Sscanf(text, "%s %s %s %s", &c.pool, &c.language, &c.screening, &c.deciding)
	if c.language == "-" {
		c.language = ""
	}
	return c, err
}

func orDash(language string) string {
	if language == "" {
		return "-"
	}
	return language
}

// ratios are those of a class.
type ratios struct {
	pairs    int
	learned  float64 // the smallest of the pairs, a logarithm
	smallest float64 // of the pairs and the checks, a logarithm
}

// look returns what the database says, at most viewFor ago.
func (s *Screen) look(ctx context.Context) (*view, error) {
	return s.seen.Get(ctx, s.o.Now, viewFor, func(ctx context.Context) (*view, error) {
		nodes, err := s.o.Nodes.Nodes(ctx)
		if err != nil {
			return nil, err
		}
		v := &view{nodes: nodes, pools: map[string]*pool{}}
		for name, decider := range s.deciders {
			if v.pools[name], err = s.readPool(ctx, name, decider); err != nil {
				return nil, err
			}
		}
		return v, nil
	})
}

func (s *Screen) readPool(ctx context.Context, name, decider string) (*pool, error) {
	p := &pool{learned: map[class]ratios{}}
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

// fingerprints are those of the nodes of a pool that judge.
func (v *view) fingerprints(pool string) (all []string) {
	for _, n := range v.nodes {
		if n.Pool == pool && n.Judging() && !slices.Contains(all, n.Fingerprint) {
			all = append(all, n.Fingerprint)
		}
	}
	return all
}

// judges reports whether a node of a pool judges.
func (v *view) judges(pool string) bool { return len(v.fingerprints(pool)) > 0 }

// smallest is the smallest ratio of a host of a screening pool to any of the deciding pool that judges, 0 if one of them
// is not known from enough pairs.
func (v *view) smallest(name, decider, language, host string, enough int) float64 {
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
