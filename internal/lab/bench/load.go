package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"judged/internal/engine"
	"judged/internal/engine/measure"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
)

// Loads runs kernels of the canary's program in separate sandboxes, one on each of the given resources: their cpusets
// keep them off the slot, and they end with judged like every sandbox.
type Loads struct {
	eng     *engine.Engine
	program *os.File
}

// OpenLoads prepares the program of the loads. Close it before the engine.
func OpenLoads(c *engine.Engine) (*Loads, error) {
	program, _, err := measure.KernelProgram()
	if err != nil {
		return nil, err
	}
	return &Loads{c, program}, nil
}

// Close closes the program file.
func (s *Loads) Close() error { return s.program.Close() }

// Crowd makes every neighbour of the slot run a load until it is stopped. "" means no load.
func (s *Site) Crowd(ctx context.Context, load string) (*Crowd, error) {
	if load == "" {
		return new(Crowd), nil
	}
	return s.loads.Start(ctx, s.resources, load)
}

// Crowd is a set of running loads; the zero value has no loads.
type Crowd struct {
	members []member
	cancel  context.CancelFunc
}

// member is one load.
type member struct {
	box   *sandbox.Sandbox
	ended chan error
}

// Start starts a load on each of the resources, and returns when all of them are running.
func (s *Loads) Start(ctx context.Context, resources []sandbox.Resources, load string) (*Crowd, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &Crowd{cancel: cancel}
	if err := s.gather(ctx, c, resources, load); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (s *Loads) gather(ctx context.Context, c *Crowd, resources []sandbox.Resources, load string) error {
	for _, one := range resources {
		m, err := s.start(ctx, one, load)
		if err != nil {
			return fmt.Errorf("start load on CPU %s: %w", one.CPUs, err)
		}
		c.members = append(c.members, m)
	}
	for i, m := range c.members {
		if err := m.waitReady(ctx); err != nil {
			return fmt.Errorf("start load on CPU %s: %w", resources[i].CPUs, err)
		}
	}
	return nil
}

// Stop stops and removes the loads. A second call does nothing.
func (c *Crowd) Stop() error {
	if c.cancel != nil {
		c.cancel()
	}
	var errs []error
	for _, m := range c.members {
		errs = append(errs, <-m.ended, m.box.Close())
	}
	c.members = nil
	return errors.Join(errs...)
}

func (s *Loads) start(ctx context.Context, one sandbox.Resources, load string) (member, error) {
	one.Group.CountAsOthers()
	box, err := s.eng.Prepare(one)
	if err != nil {
		return member{}, err
	}
	if err := box.Load(s.loadSpec(load)); err != nil {
		return member{}, errors.Join(err, box.Close())
	}
	m := member{box: box, ended: make(chan error, 1)}
	go func() {
		r, err := box.Run(ctx)
		if err == nil && r.Stop != sandbox.StopCancelled {
			err = fmt.Errorf("load ended by itself: exit %d, signal %d, %d kills for memory; look for what took it",
				r.Code, r.Signal, r.OOMKills)
		}
		m.ended <- err
	}()
	return m, nil
}

// loadSpec limits only the memory of a load: it runs as long as it is needed.
func (s *Loads) loadSpec(load string) sandbox.Spec {
	const days = 24 * time.Hour
	return sandbox.Spec{
		Args: []string{"./" + initproc.CanaryName, load},
		// Opened for every run, because each needs its own offset.
		Files: []sandbox.File{{Name: initproc.CanaryName, Exec: true,
			Path: fmt.Sprintf("/proc/self/fd/%d", s.program.Fd())}},
		Limits: sandbox.Limits{CPUTime: days, WallTime: days, Memory: initproc.LoadBytes, Output: 4 << 10,
			Stack: 8 << 20, Processes: 32},
	}
}

// readyTimeout is a safety limit: a load is ready after a tenth of a second, and later if many start at once.
const readyTimeout = time.Minute

// waitReady returns when the load has written its byte. Checking the size of a file costs the load nothing.
func (m member) waitReady(ctx context.Context) error {
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	brake := time.After(readyTimeout)
	for {
		size, err := m.box.Stdout().Size()
		if err != nil || size > 0 {
			return err
		}
		select {
		case <-poll.C:
		case err := <-m.ended:
			m.ended <- err // for Stop, which returns it
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return errors.New("it ended before it was ready")
		case <-brake:
			return fmt.Errorf("it is not ready after %s", readyTimeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
