package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"unicode/utf8"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/jobs"
	"judged/internal/jobs/intake"
)

const (
	// maxBatch is the maximum number of jobs of a batch.
	maxBatch = 1000
	// maxPacked limits the encoded jobs of a batch that are in memory. A job of a problem with many tests is stored
	// with all of them.
	maxPacked units.Bytes = 128 << 20
)

// batchRequest is the body of a batch. The jobs are decoded one by one, so that an error in one concerns only that one.
type batchRequest struct {
	Jobs []batchItem `json:"jobs"`
}

// batchItem is a job of a batch. It has at most one of ID and IdempotencyKey.
type batchItem struct {
	ID             string          `json:"id,omitempty"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	Job            json.RawMessage `json:"job"`
}

// batchResult is the outcome of one job: what the request for it alone would have got.
type batchResult struct {
	Status   int      `json:"status"`
	ID       string   `json:"id,omitempty"`
	Location string   `json:"location,omitempty"`
	Problem  *Problem `json:"problem,omitempty"` // if it was refused
}

// batchAnswer is the response to a batch with an accepted job.
type batchAnswer struct {
	Accepted int           `json:"accepted"` // including jobs that were stored before
	Results  []batchResult `json:"results"`  // in the order of the request
}

// batchProblem is the response to a batch without an accepted job.
type batchProblem struct {
	*Problem
	Results []batchResult `json:"results"`
}

// Batch collects jobs and stores them in one transaction. It is not safe for concurrent use.
type Batch struct {
	server *Server
	intake *intake.Batch
	packed []jobs.Packed
	size   units.Bytes
}

// newBatch returns an empty batch once there is room for one. Prepared jobs take memory, and SQLite has one writer.
func (s *Server) newBatch(ctx context.Context) (b *Batch, release func(), err error) {
	if err := s.batching.Acquire(ctx, 1); err != nil {
		return nil, nil, err
	}
	return &Batch{server: s, intake: s.intake.NewBatch()}, func() { s.batching.Release(1) }, nil
}

// Prepare validates a job and keeps its files until Store.
func (b *Batch) Prepare(ctx context.Context, r intake.Request) (jobs.Submission, error) {
	return b.intake.Prepare(ctx, r)
}

// Add adds a job that Prepare has returned.
func (b *Batch) Add(ctx context.Context, n jobs.Submission) error {
	p, err := b.server.jobs.Pack(ctx, n)
	if err != nil {
		return err
	}
	if b.size+p.Size() > maxPacked {
		return problem("too-large", "send the rest in another batch",
			"the jobs of the batch take more than %s with the tests of their problems", maxPacked)
	}
	b.packed, b.size = append(b.packed, p), b.size+p.Size()
	return nil
}

// Store stores all jobs and their files, even if the caller disconnects meanwhile. It returns the outcome of each job, in
// the order in which they were added.
func (b *Batch) Store(ctx context.Context) ([]jobs.Stored, error) {
	return b.store(ctx, b.server.jobs.PutAll)
}

// StoreWhole is like Store, but stores nothing unless it can store all jobs.
func (b *Batch) StoreWhole(ctx context.Context) error {
	outcomes, err := b.store(ctx, b.server.jobs.PutWhole)
	for _, o := range outcomes {
		err = errors.Join(err, o.Err)
	}
	if errors.Is(err, jobs.ErrFull) {
		return b.server.full(err)
	}
	return err
}

func (b *Batch) store(ctx context.Context, put func(context.Context, []jobs.Packed) ([]jobs.Stored, error)) (
	[]jobs.Stored, error) {
	if len(b.packed) == 0 {
		return nil, nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := b.intake.StoreFiles(ctx); err != nil {
		return nil, err
	}
	outcomes, err := put(ctx, b.packed)
	for n := range outcomes {
		outcomes[n].Err = b.server.notStored(b.packed[n].ID, outcomes[n].Err)
	}
	return outcomes, err
}

// batch is the request for a batch in progress.
type batch struct {
	*Batch

	results []batchResult
	at      []int // index in results of each packed job
}

// postBatch stores many jobs in one transaction. A job that is refused does not affect the others.
func (s *Server) postBatch(w http.ResponseWriter, r *http.Request) error {
	key, err := keyOf(r)
	if err != nil {
		return err
	}
	if err := s.checkAccepts(); err != nil {
		return err
	}
	b, err := s.receiveBatch(w, r, key)
	if err != nil {
		return err
	}
	return b.answer(w)
}

// receiveBatch reads a batch and stores its jobs. It releases its reserved memory when it returns, because the body
// stays in memory while the batch waits for others.
func (s *Server) receiveBatch(w http.ResponseWriter, r *http.Request, key string) (*batch, error) {
	aside := &room{memory: s.memory}
	defer aside.release()
	sent, err := s.readBatch(w, r, aside)
	if err != nil {
		return nil, err
	}
	empty, release, err := s.newBatch(r.Context())
	if err != nil {
		return nil, err
	}
	defer release()
	b := &batch{Batch: empty, results: make([]batchResult, len(sent.Jobs))}
	for i, item := range sent.Jobs {
		id, err := s.batchItemID(r.Context(), item, key, i)
		if err == nil {
			err = b.add(r.Context(), i, id, item.Job)
		}
		if err := b.refuse(i, err); err != nil {
			return nil, err
		}
	}
	return b, b.record(r.Context())
}

// readBatch reads the body of a batch.
func (s *Server) readBatch(w http.ResponseWriter, r *http.Request, aside *room) (batchRequest, error) {
	sent, err := readStrictAside[batchRequest](s, w, r, aside)
	switch n := len(sent.Jobs); {
	case err != nil:
		return sent, err
	case n == 0:
		return sent, problem("bad-request", `send {"jobs": [{"job": {…}}, …]}`, "the batch has no jobs")
	case n > maxBatch:
		return sent, problem("bad-request", "send several batches", "%d jobs; a batch has at most %d", n, maxBatch)
	}
	return sent, nil
}

// batchItemID returns the ID of a job: its own, or one derived from its key or that of the batch, or a new one.
func (s *Server) batchItemID(ctx context.Context, item batchItem, key string, i int) (string, error) {
	switch own := item.IdempotencyKey; {
	case item.ID != "" && own != "":
		return "", problem("bad-request", "send one of them", "the job has both id and idempotency_key")
	case item.ID != "":
		return item.ID, checkID(item.ID)
	case strings.ContainsRune(own, utf8.RuneError):
		return "", problem("bad-request", "send another one", "idempotency_key is not valid Unicode text")
	case own != "":
		return keyedID(caller(ctx), own), checkKey(own)
	case key != "":
		return batchID(caller(ctx), key, i), nil
	}
	return newID(s.now()), nil
}

// add prepares a job.
func (b *batch) add(ctx context.Context, i int, id string, body json.RawMessage) error {
	if len(body) == 0 {
		return problem("bad-request", "send the job in the member job", "jobs[%d] has no job", i)
	}
	j, unfit, err := intake.Decode[api.Job](bytes.NewReader(body))
	if err != nil {
		return err
	}
	submission, err := b.Prepare(ctx, intake.Request{ID: id, Job: j, Findings: unfit})
	if err == nil {
		err = b.Add(ctx, submission)
	}
	if err == nil {
		b.at = append(b.at, i)
	}
	return err
}

// refuse records the problem of a job. It returns errors that do not depend on the job.
func (b *batch) refuse(i int, err error) error {
	if err == nil {
		return nil
	}
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError || errors.Is(err, context.Canceled) {
		return err
	}
	b.results[i] = batchResult{Status: p.Status, Problem: p}
	return nil
}

// record stores all prepared jobs and records their outcomes.
func (b *batch) record(ctx context.Context) error {
	outcomes, err := b.Store(ctx)
	if err != nil {
		return err
	}
	for n, o := range outcomes {
		i, id := b.at[n], b.packed[n].ID
		if err := b.refuse(i, o.Err); err != nil {
			return err
		}
		if o.Err == nil {
			b.results[i] = batchResult{Status: storedStatus(o.Created), ID: id, Location: location(id)}
		}
	}
	return nil
}

// answer responds with the results. If no job is accepted, the status is that of all jobs, or 422 if they have several.
func (b *batch) answer(w http.ResponseWriter) error {
	accepted, kinds := 0, map[string]bool{}
	for _, r := range b.results {
		if r.Problem == nil {
			accepted++
		} else {
			kinds[strings.TrimPrefix(r.Problem.Type, problemType)] = true
		}
	}
	if accepted > 0 {
		return b.server.writeJSON(w, http.StatusOK, batchAnswer{Accepted: accepted, Results: b.results})
	}
	first, kind := b.results[0].Problem, "invalid-batch"
	if len(kinds) == 1 {
		kind = strings.TrimPrefix(first.Type, problemType)
		maps.Copy(w.Header(), first.header)
	}
	p := problem(kind, first.NextStep, "none of %d jobs was accepted; the first one: %s", len(b.results), first.Detail)
	return b.server.writeAs(w, "application/problem+json", p.Status, batchProblem{p, b.results})
}
