package main

import (
	"context"
	"fmt"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/service/render"
)

// judgeAll submits every job and waits for every report, in the order of the
// plan, which is that of the queue too.
func judgeAll(ctx context.Context, cl client.Client, p *plan, line render.Line) error {
	for n, it := range p.items {
		line.Show("submitting %d of %d  %s", n+1, len(p.items), it.sample.Name)
		if err := it.submit(ctx, cl); err != nil {
			return fmt.Errorf("submit sample %q: %w", it.sample.Name, err)
		}
	}
	for n, it := range p.items {
		line.Show("judging %d of %d  %s", n+1, len(p.items), it.sample.Name)
		report, err := cl.Wait(ctx, it.id)
		if err != nil {
			return fmt.Errorf("wait for sample %q: %w", it.sample.Name, err)
		}
		it.report = report
	}
	return nil
}

// submit uploads the files that the daemon does not have and sends the job.
func (it *item) submit(ctx context.Context, cl client.Client) error {
	j, err := it.job.MapFiles(func(_ string, f api.File) (api.File, error) {
		if f.Part == "" {
			return f, nil
		}
		digest, err := cl.PutBlobFile(ctx, f.Part)
		return api.File{Blob: digest}, err
	})
	if err != nil {
		return err
	}
	report, err := cl.Submit(ctx, "", j)
	it.id = report.ID
	return err
}
