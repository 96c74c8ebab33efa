package httpapi

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/fleet/front"
	"judged/internal/fleet/judge"
)

// TestNodeName checks that a node that no operator has named has the name of its token, or its host name at a front
// without tokens.
func TestNodeName(t *testing.T) {
	const secret = "secret"
	tokens, err := ParseTokens(strings.NewReader(fmt.Sprintf("judge-1 node %x\n", sha256.Sum256([]byte(secret)))))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		tokens  *Tokens
		node    string
		unnamed bool
		want    string // "" means refused
	}{
		{"host name, token", tokens, "host-7", true, "judge-1"},
		{"no valid name, token", tokens, "host 7", true, "judge-1"},
		{"named as the token", tokens, "judge-1", false, "judge-1"},
		{"another name than the token", tokens, "host-7", false, ""},
		{"host name, no tokens", nil, "host-7", true, "host-7"},
		{"no valid host name, no tokens", nil, "host 7", true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store := openStore(t)
			registry := front.NewRegistry(store, time.Now, "default")
			server := httptest.NewServer(New(Options{Config: config.Default(), Tokens: tt.tokens, Jobs: store,
				Work: store, Protocols: api.FleetProtocols(), Nodes: registryNodes{registry},
				Accepts: func() error { return nil }, Ready: func() error { return nil }}))
			defer server.Close()
			front := client.Client{Base: server.URL}
			if tt.tokens != nil {
				front.Token = secret
			}
			source, err := judge.NewSource(judge.Options{Front: front, Node: tt.node, Unnamed: tt.unnamed,
				Spool: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			commands, err := source.Register(t.Context(), api.Registration{Pool: "default", Time: time.Now()})
			if (err == nil) != (tt.want != "") || commands.Node != tt.want {
				t.Fatalf("registered as %q, %v, want %q", commands.Node, err, tt.want)
			}
			nodes, err := registry.Nodes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if tt.want != "" && (len(nodes) != 1 || nodes[0].Name != tt.want) || tt.want == "" && len(nodes) != 0 {
				t.Errorf("nodes %+v, want %q", nodes, tt.want)
			}
		})
	}
}
