package jury

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"judged/internal/api"
	"judged/internal/sandbox"
)

// Program is a program of the jury.
type Program struct {
	Name string // name in messages, such as the path in a package; may be ""
	// Language is the language that Files are compiled in; the first file has the entry point. Compilation sets
	// Command. If Language is "", the files are run as they are.
	Language string
	Command  []string // command line without the arguments
	Files    []sandbox.File
	Args     []string // appended to the arguments of the protocol
}

// Called returns the program's name for messages.
func (p Program) Called(role string) string {
	if p.Name == "" {
		return role
	}
	return fmt.Sprintf("%s %q", role, p.Name)
}

// command returns the command line of a program with the arguments of its protocol.
func (r *Runner) command(p Program, args []string) []string {
	return slices.Concat(api.FillStack(p.Command, r.limits.Stack), args)
}

// Runner runs the programs of the jury for one slot. Its methods may be called concurrently.
type Runner struct {
	launcher *sandbox.Launcher
	slot     sandbox.Resources
	limits   sandbox.Limits
	log      *slog.Logger

	background sync.WaitGroup

	mu     sync.Mutex       // guards the fields below
	spare  *sandbox.Sandbox // prepared for the next program; may be nil
	closed bool
}

// NewRunner returns a runner on housekeeping CPUs. Programs of the jury have their own network namespace and their
// own files, so contestants' programs cannot observe them. Close the runner before the launcher.
func NewRunner(l *sandbox.Launcher, slot sandbox.Resources, limits sandbox.Limits, log *slog.Logger) (*Runner, error) {
	var err error
	if slot.Network, err = sandbox.NewNetwork(); err != nil {
		return nil, err
	}
	slot.Copies, slot.Trees = l.Copies(), l.NewTrees(slot)
	return &Runner{launcher: l, slot: slot, limits: limits, log: log}, nil
}

// Resources returns the resources that the programs run on.
func (r *Runner) Resources() sandbox.Resources { return r.slot }

// Prepare creates a sandbox for the next program in the background.
func (r *Runner) Prepare() { r.background.Go(r.prepareSpare) }

// prepareSpare creates the next sandbox if none is ready.
func (r *Runner) prepareSpare() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spare != nil || r.closed {
		return
	}
	box, err := r.launcher.Prepare(r.slot)
	if err != nil {
		// acquire retries, and returns the error.
		r.log.Warn("cannot prepare a sandbox for programs of the jury", "cpus", r.slot.CPUs.String(), "error", err)
		return
	}
	r.spare = box
}

// acquire returns a prepared sandbox. The caller must pass it to release.
func (r *Runner) acquire() (*sandbox.Sandbox, error) {
	r.mu.Lock()
	box := r.spare
	r.spare = nil
	r.mu.Unlock()
	if box != nil {
		return box, nil
	}
	return r.launcher.Prepare(r.slot)
}

// release closes a used sandbox and prepares the next one, in the background.
func (r *Runner) release(box *sandbox.Sandbox) {
	r.background.Go(func() {
		if err := box.Close(); err != nil {
			r.log.Error("cannot clean up a sandbox of the jury; the rest is removed when judged starts again",
				"error", err)
		}
		r.prepareSpare()
	})
}

// Settle waits for the background work. No program may be running.
func (r *Runner) Settle() { r.background.Wait() }

// Close stops the runner and waits until all of its resources are released. No program may be running.
func (r *Runner) Close() error {
	r.background.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var closed error
	if r.spare != nil {
		closed = r.spare.Close()
		r.spare = nil
	}
	return errors.Join(closed, r.slot.Group.Trim(), r.slot.Trees.Close(), r.slot.Network.Close())
}
