package fleet

import (
	"context"
	"net/url"

	"judged/internal/api"

	"judged/internal/client"
)

// List asks a front for its nodes.
func List(ctx context.Context, front client.Client) ([]api.Node, error) {
	list, err := client.Get[api.NodeList](ctx, front, "/v1/nodes")
	return list.Nodes, err
}

// SetDrained asks a front to take a node out of use or back, and returns all nodes.
func SetDrained(ctx context.Context, front client.Client, name string, drained bool) ([]api.Node, error) {
	verb := "/undrain"
	if drained {
		verb = "/drain"
	}
	list, err := client.Post[api.NodeList](ctx, front, "/v1/nodes/"+url.PathEscape(name)+verb, api.Nothing{}, 0)
	return list.Nodes, err
}

// Admit asks a front to give jobs to a node that differs from its pool, and returns all nodes.
func Admit(ctx context.Context, front client.Client, name string) ([]api.Node, error) {
	list, err := client.Post[api.NodeList](ctx, front, "/v1/nodes/"+url.PathEscape(name)+"/admit", api.Nothing{}, 0)
	return list.Nodes, err
}
