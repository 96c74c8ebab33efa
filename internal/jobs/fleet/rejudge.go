package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"judged/internal/api"
	"judged/internal/client"
)

// RejudgingSet is what a node that was drained for its times judged while it deviated, as far as the deviation may have
// changed a verdict. People decide what is judged again.
type RejudgingSet struct {
	Node      string        `json:"node"`
	Since     time.Time     `json:"since"`
	Until     time.Time     `json:"until"`
	Deviation float64       `json:"deviation_ratio"`
	Window    float64       `json:"window_ratio"` // how far from its limit the time of a test may be
	Jobs      []RejudgedJob `json:"jobs"`
	Truncated bool          `json:"truncated"` // there are more jobs
}

// RejudgedJob is a job with a test near its limit.
type RejudgedJob struct {
	ID      string        `json:"id"`
	Verdict api.Verdict   `json:"verdict"`
	Test    string        `json:"test"` // the one nearest to its limit
	CPUTime time.Duration `json:"cpu_time_ns"`
	Limit   time.Duration `json:"limit_ns"`
}

const rejudgeValue = "node-rejudge"

// SetRejudgingSet replaces the set of a node.
func (r *Registry) SetRejudgingSet(ctx context.Context, s RejudgingSet) error {
	return r.values.SetValue(ctx, s, rejudgeValue, s.Node)
}

// RejudgingSet returns the set of the last time that a node was drained for its times.
func (r *Registry) RejudgingSet(ctx context.Context, node string) (s RejudgingSet, err error) {
	found := false
	err = r.values.Values(ctx, func(name string, value []byte) error {
		if name != node {
			return nil
		}
		found = true
		return json.Unmarshal(value, &s)
	}, rejudgeValue)
	if err == nil && !found {
		err = fmt.Errorf("rejudging set of node %q: %w", node, ErrUnknownNode)
	}
	return s, err
}

// GetRejudgingSet asks a front for the rejudging set of a node.
func GetRejudgingSet(ctx context.Context, front client.Client, node string) (RejudgingSet, error) {
	return client.Get[RejudgingSet](ctx, front, "/v1/nodes/"+url.PathEscape(node)+"/rejudge")
}
