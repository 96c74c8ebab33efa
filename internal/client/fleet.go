package client

import (
	"context"
	"net/url"

	"judged/internal/api"
)

// ListNodes returns the nodes of a front.
func ListNodes(ctx context.Context, front Client) ([]api.Node, error) {
	list, err := Get[api.NodeList](ctx, front, "/v1/nodes")
	return list.Nodes, err
}

// SetNodeDrained takes a node out of use or returns it to use, and returns all nodes.
func SetNodeDrained(ctx context.Context, front Client, name string, drained bool) ([]api.Node, error) {
	verb := "/undrain"
	if drained {
		verb = "/drain"
	}
	list, err := Post[api.NodeList](ctx, front, "/v1/nodes/"+url.PathEscape(name)+verb, api.Nothing{}, 0)
	return list.Nodes, err
}

// AdmitNode makes a front give jobs to a node that differs from its pool, and returns all nodes.
func AdmitNode(ctx context.Context, front Client, name string) ([]api.Node, error) {
	list, err := Post[api.NodeList](ctx, front, "/v1/nodes/"+url.PathEscape(name)+"/admit", api.Nothing{}, 0)
	return list.Nodes, err
}

// ForgetNode removes a node that is down, and returns all nodes.
func ForgetNode(ctx context.Context, front Client, name string) ([]api.Node, error) {
	list, err := Post[api.NodeList](ctx, front, "/v1/nodes/"+url.PathEscape(name)+"/forget", api.Nothing{}, 0)
	return list.Nodes, err
}

// OpenScreen makes a closed screening pool decide again, and returns all pools.
func OpenScreen(ctx context.Context, front Client, pool string) ([]api.Pool, error) {
	list, err := Post[api.PoolList](ctx, front, "/v1/pools/"+url.PathEscape(pool)+"/open", api.Nothing{}, 0)
	return list.Pools, err
}

// ListPools returns the pools of a front.
func ListPools(ctx context.Context, front Client) ([]api.Pool, error) {
	list, err := Get[api.PoolList](ctx, front, "/v1/pools")
	return list.Pools, err
}

// GetRejudgingSet returns the rejudging set of a node.
func GetRejudgingSet(ctx context.Context, front Client, node string) (api.RejudgingSet, error) {
	return Get[api.RejudgingSet](ctx, front, "/v1/nodes/"+url.PathEscape(node)+"/rejudge")
}

// RequestPrefetch makes the nodes of a pool fetch blobs.
func RequestPrefetch(ctx context.Context, front Client, pool string, q api.PrefetchRequest) (api.PrefetchStatus,
	error) {
	return Post[api.PrefetchStatus](ctx, front, prefetchPath(pool), q, 0)
}

// GetPrefetch returns the progress of the nodes of a pool.
func GetPrefetch(ctx context.Context, front Client, pool string) (api.PrefetchStatus, error) {
	return Get[api.PrefetchStatus](ctx, front, prefetchPath(pool))
}

func prefetchPath(pool string) string { return "/v1/pools/" + url.PathEscape(pool) + "/prefetch" }
