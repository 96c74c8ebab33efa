package judge0

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"judged/internal/api"
	"judged/internal/service/httpapi"
)

// others are the methods that are not called.
type others interface{ httpapi.Nodes }

// someNodes are the nodes of a front.
type someNodes struct {
	others
	all []api.Node
	err error
}

func (n someNodes) Nodes(context.Context) ([]api.Node, error) { return n.all, n.err }

// TestWorkers: the slots of nodes that judge are workers of a front.
func TestWorkers(t *testing.T) {
	slots := []api.NodeSlot{{CPUs: "2", State: "idle"}, {CPUs: "3", State: "busy"}, {CPUs: "4", State: "drained"}}
	for _, tt := range []struct {
		name   string
		nodes  httpapi.Nodes
		status int
		body   string
	}{
		{"one host without slots", nil, http.StatusOK, workersOf("0", "0", "0", "0")},
		{"front", someNodes{all: []api.Node{{Up: true, Ready: true, Slots: slots}, {Up: true, Slots: slots},
			{Up: true, Ready: true, Slots: slots[:1]}}}, http.StatusOK, workersOf("4", "2", "1", "1")},
		{"database away", someNodes{err: errors.New("away")}, http.StatusInternalServerError, ""},
	} {
		f := newFixtureWith(t, t.TempDir(), "", tt.nodes)
		w := f.send("GET", "/workers", "")
		if got := w.Body.String(); w.Code != tt.status || tt.body != "" && got != tt.body {
			t.Errorf("%s: %d %s, want %d %s", tt.name, w.Code, got, tt.status, tt.body)
		}
	}
}

func workersOf(available, idle, working, paused string) string {
	return `[{"available":` + available + `,"failed":0,"idle":` + idle + `,"paused":` + paused +
		`,"queue":"` + imitated + `","size":0,"working":` + working + "}]\n"
}
