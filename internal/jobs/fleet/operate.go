package fleet

import (
	"context"
	"net/url"

	"judged/internal/client"
)

// NodeList is the answer of GET /v1/nodes.
type NodeList struct {
	Nodes []Node `json:"nodes"`
}

// List asks a front for its nodes.
func List(ctx context.Context, front client.Client) ([]Node, error) {
	list, err := client.Get[NodeList](ctx, front, "/v1/nodes")
	return list.Nodes, err
}

// SetDrained asks a front to take a node out of use or back, and returns all nodes.
func SetDrained(ctx context.Context, front client.Client, name string, drained bool) ([]Node, error) {
	verb := "/undrain"
	if drained {
		verb = "/drain"
	}
	list, err := client.Post[NodeList](ctx, front, "/v1/nodes/"+url.PathEscape(name)+verb, Nothing{}, 0)
	return list.Nodes, err
}

// Admit asks a front to give jobs to a node that differs from its pool, and returns all nodes.
func Admit(ctx context.Context, front client.Client, name string) ([]Node, error) {
	list, err := client.Post[NodeList](ctx, front, "/v1/nodes/"+url.PathEscape(name)+"/admit", Nothing{}, 0)
	return list.Nodes, err
}
