package front

import (
	"context"
	"encoding/json"
	"fmt"

	"judged/internal/api"
)

const rejudgeValue = "node-rejudge"

// SetRejudgingSet replaces the set of a node.
func (r *Registry) SetRejudgingSet(ctx context.Context, s api.RejudgingSet) error {
	return r.values.SetValue(ctx, s, rejudgeValue, s.Node)
}

// RejudgingSet returns the set of the last time that a node was drained because of its times.
func (r *Registry) RejudgingSet(ctx context.Context, node string) (s api.RejudgingSet, err error) {
	found := false
	err = r.values.Values(ctx, func(name string, value []byte) error {
		if name != node {
			return nil
		}
		found = true
		return json.Unmarshal(value, &s)
	}, rejudgeValue)
	if err == nil && !found {
		err = fmt.Errorf("rejudging set of node %q: %w", node, api.ErrUnknownNode)
	}
	return s, err
}
