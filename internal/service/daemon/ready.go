package daemon

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
)

const (
	// readyTime is how long a probe waits for the database and the blobs.
	readyTime = 2 * time.Second
	// blobsAge is how long a result in blobState is valid, and the free space of a shared folder.
	blobsAge = time.Second
)

// blobState is the reason why blobs cannot be stored, at most a second old.
type blobState struct{ poll.Value[error] }

func (b *blobState) check(ctx context.Context, blobs blobStore) error {
	state, err := b.Get(ctx, time.Now, blobsAge, func(ctx context.Context) (error, error) {
		return blobs.Check(ctx),
			nil
	})
	return cmp.Or(err, state)
}

// accepts returns the reason why no job is accepted, or nil. An accepted job may have to wait until a slot is in use
// again.
func (d *daemon) accepts() error {
	if d.draining.Load() {
		return errors.New("judged is draining: it finishes the running jobs and exits")
	}
	if !d.judges() {
		return reasons(d.space.check(reserveBytes), d.blobRoom(), d.store.Check())
	}
	return reasons(d.health.fit(), d.space.check(reserveBytes), d.blobRoom(), d.store.Check())
}

// ready returns the reason why a job submitted now would not be accepted or not be judged, or nil.
func (d *daemon) ready() error {
	if d.domjudge != nil {
		return reasons(d.accepts(), d.health.inUse(), d.domjudge.ready())
	}
	if d.front != nil {
		return reasons(d.accepts(), d.health.inUse(), *d.front.lost.Load())
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	stored := d.blobState.check(ctx, d.blobs)
	if !d.judges() {
		return reasons(d.accepts(), stored, d.registry.Ready(ctx))
	}
	return reasons(d.accepts(), stored, d.takesJobs(ctx))
}

// takesJobs returns the reason why jobs of this host's pool are not judged, here or on another node of the pool, or nil.
func (d *daemon) takesJobs(ctx context.Context) error {
	here := d.health.inUse()
	if here == nil {
		// While the database is unavailable, that is the reason.
		if drained, err := d.registry.Drained(ctx, d.node); err != nil || !drained {
			return nil
		}
		here = errors.New("this node is drained or kept out of its pool; see GET /v1/nodes")
	}
	nodes, err := d.registry.Nodes(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(nodes, func(n api.Node) bool {
		return n.Name != d.node && n.Pool == d.o.Config.Slots.Pool && n.Judging()
	}) {
		return nil
	}
	return here
}

// blobRoom returns an error if a shared folder of blobs is full or does not respond: each job that was accepted then
// would keep a thread waiting. Another folder is on the disk of the data folder, and a bucket does not report its free
// space.
func (d *daemon) blobRoom() error {
	if folder, _ := d.o.Config.Blobs.Parts(); folder == "" {
		return nil
	}
	return d.blobSpace.checkWithin(blobsAge, reserveBytes)
}

// reasons joins errors on one line.
func reasons(all ...error) error {
	var found []string
	for _, err := range all {
		if err != nil {
			found = append(found, err.Error())
		}
	}
	if len(found) == 0 {
		return nil
	}
	return errors.New(strings.Join(found, "; "))
}
