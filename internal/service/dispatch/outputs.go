package dispatch

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/jobs/blobs"
)

// concurrentKeeps is how many outputs of a job are stored at a time: the disk syncs them together.
const concurrentKeeps = 8

// detachKept removes the kept outputs from a report and returns them.
func detachKept(r *api.Report) (all []api.KeptOutput) {
	all, r.Kept = r.Kept, nil
	for i := range r.Tests {
		all = append(all, r.Tests[i].Kept...)
		r.Tests[i].Kept = nil
	}
	return all
}

// storeOutputs stores kept outputs and returns them as the report lists them. It stores equal contents once.
func (a *attempt) storeOutputs(ctx context.Context, kept []api.KeptOutput) ([]api.Output, error) {
	var outputs []api.Output
	contents := map[string][]int{} // indices of the outputs with a content
	for i, k := range kept {
		outputs = append(outputs, k.Output)
		if k.Content != nil {
			contents[string(k.Content)] = append(contents[string(k.Content)], i)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentKeeps)
	for content, of := range contents {
		group.Go(func() error {
			digest, err := a.o.Keep(ctx, content)
			switch {
			case errors.Is(err, blobs.ErrTooBig):
				a.o.Log.Warn("cannot keep an output; the report names no blob for it", "job", a.work.ID, "error", err)
			case err != nil:
				return fmt.Errorf("keep an output of job %q: %w: %w", a.work.ID, api.ErrUnavailable, err)
			}
			for _, i := range of {
				outputs[i].Blob, outputs[i].Truncated = digest, outputs[i].Truncated || digest == ""
			}
			return nil
		})
	}
	return outputs, group.Wait()
}
