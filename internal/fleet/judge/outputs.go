package judge

import (
	"context"
	"errors"
	"fmt"
	"os"

	"judged/internal/api"
	"judged/internal/jobs/blobs"
)

// sendOutputs sends the blobs that a report names, before the report. An output that the front never accepts, or whose
// copy is gone, stays in the report without a blob.
func (s *Source) sendOutputs(ctx context.Context, q *api.FinishRequest) error {
	sent := map[string]bool{"": true}
	outputs := make([]api.Output, len(q.Report.Outputs))
	for i, o := range q.Report.Outputs {
		if !sent[o.Blob] {
			err := s.sendOutput(ctx, q.Hold, o.Blob)
			switch {
			case errors.Is(err, blobs.ErrNotFound), s.isHopeless(q.Lease(), err):
				s.o.Log.Error("the report of a job names no blob for an output", "job", q.ID, "test", o.Test, "stream",
					o.Stream, "error", err)
				o.Blob, o.Truncated = "", true
			case err != nil:
				return err
			}
			sent[o.Blob] = true
		}
		outputs[i] = o
	}
	if len(outputs) > 0 {
		q.Report.Outputs = outputs
	}
	return nil
}

func (s *Source) sendOutput(ctx context.Context, h api.Hold, digest string) error {
	path, err := s.o.Outputs(digest)
	var content []byte
	if err == nil {
		content, err = os.ReadFile(path)
	}
	switch {
	case errors.Is(err, blobs.ErrNotFound):
		return err
	case err != nil:
		return fmt.Errorf("read an output: %w: %w", api.ErrUnavailable, err)
	}
	_, err = post[api.Nothing](ctx, s, "keep", &api.KeepRequest{Hold: h, SHA256: digest, Content: content}, 0)
	if errors.Is(err, api.ErrNotFound) { // the front is older; if it lacks the job, it says so for the report
		err = fmt.Errorf("%w: %w", api.ErrRefused, err)
	}
	return err
}
