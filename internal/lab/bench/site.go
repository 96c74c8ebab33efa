package bench

import (
	"context"
	"errors"
	"slices"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/sandbox"
)

// Site is an engine with placements. Close it before the engine.
type Site struct {
	Placements []Placement
	LeftOut    []LeftOut

	eng       *engine.Engine
	workers   map[string]*measure.Worker // by CPUs and nodes
	resources []sandbox.Resources        // one for each neighbour
	loads     *Loads
	err       error // first error while placements are added
}

// Open prepares the placements of the engine's first slot.
func Open(c *engine.Engine) (*Site, error) {
	s := &Site{eng: c, workers: map[string]*measure.Worker{}}
	if err := errors.Join(s.places(), s.neighbours()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the load's program file. The engine closes the workers.
func (s *Site) Close() error {
	if s.loads == nil {
		return nil
	}
	return s.loads.Close()
}

// neighbours prepares the resources of loads.
func (s *Site) neighbours() (err error) {
	if s.loads, err = OpenLoads(s.eng); err != nil {
		return err
	}
	t := s.eng.Topology()
	for _, id := range s.eng.Neighbours() {
		c, _ := t.CPU(id) // the CPU is online
		nodes := cpuset.New(c.Node)
		if n, _ := t.Node(c.Node); n.MemTotal == 0 {
			nodes = memoryNodes(s.eng)
		}
		one, err := s.eng.UnplannedSlot(cpuset.New(id), nodes)
		if err != nil {
			return err
		}
		s.resources = append(s.resources, one)
	}
	return nil
}

// Placement returns the placement with an ID.
func (s *Site) Placement(id string) (Placement, bool) {
	i := slices.IndexFunc(s.Placements, func(p Placement) bool { return p.ID == id })
	if i < 0 {
		return Placement{}, false
	}
	return s.Placements[i], true
}

// Select removes all placements except those named. The order of Placements stays.
func (s *Site) Select(ids ...string) {
	s.Placements = slices.DeleteFunc(s.Placements, func(p Placement) bool { return !slices.Contains(ids, p.ID) })
	s.LeftOut = slices.DeleteFunc(s.LeftOut, func(l LeftOut) bool { return !slices.Contains(ids, l.ID) })
}

// Judge judges a task with one test in a placement, without its load: see Crowd.
func (s *Site) Judge(ctx context.Context, p Placement, task judge.Task) (api.TestReport, error) {
	r, err := judge.Run(ctx, p.worker, task, func(api.TestReport) {})
	if _, noise := errors.AsType[*measure.NoiseError](err); noise {
		err = nil // an IE among the verdicts
	}
	if err != nil {
		return api.TestReport{}, err
	}
	return r.Tests[0], nil
}

// Once runs a task with one test a single time in a placement, next to its load.
func (s *Site) Once(ctx context.Context, p Placement, task judge.Task) (api.TestReport, error) {
	crowd, err := s.Crowd(ctx, p.Load)
	if err != nil {
		return api.TestReport{}, err
	}
	task.Repeats = api.Repeats{Min: 1, Max: 1, Policy: api.Single}
	r, err := s.Judge(ctx, p, task)
	return r, errors.Join(err, crowd.Stop())
}
