package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/client"
)

// TestPoolsOfANode checks in which pools a token may register and take jobs. Scopes before or after a pool, and other
// pools, change nothing.
func TestPoolsOfANode(t *testing.T) {
	store := openStore(t)
	for scopes, want := range map[string]string{
		"node": "a b cloud", "node:cloud": "cloud", "node:a,node:b": "a b", "node:b,node:a": "a b",
		"node:cloud,read": "cloud", "read,node:cloud": "cloud", "admin,node:a,submit,node:b,metrics": "a b",
		"node:a,node": "a b cloud", "node:a,node:a": "a", "read,submit,admin,metrics": "",
	} {
		file := "other node " + digestText("other") + "\nn " + scopes + " " + digestText("x")
		tokens, err := ParseTokens(strings.NewReader(file))
		if err != nil {
			t.Errorf("%s: %v", scopes, err)
			continue
		}
		front := frontOf(t, store, func(o *Options) { o.Tokens = tokens })
		front.Token = "x"
		caller := api.Caller{Node: "n", Protocol: api.FleetProtocols().Newest}
		for verb, ask := range map[string]func(pool string) any{
			"register": func(pool string) any { return api.Registration{Caller: caller, Pool: pool, Time: time.Now()} },
			"take": func(pool string) any {
				return api.TakeRequest{Caller: caller, Pool: pool, Width: 1, CPUs: "1"}
			},
		} {
			var got []string
			for _, pool := range []string{"a", "b", "cloud"} {
				_, err := client.Post[struct{}](t.Context(), front, "/v1/work/"+verb, ask(pool), 0)
				if err == nil {
					got = append(got, pool)
				} else if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != http.StatusForbidden {
					t.Errorf("%s: %s in pool %s: %v", scopes, verb, pool, err)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %s in %q, want %q", scopes, verb, got, want)
			}
		}
	}
	for _, scopes := range []string{"node:", "node:a:b", "node:A pool", "node:<b>", "read:a", "node:a,node:"} {
		if _, err := ParseTokens(strings.NewReader("n " + scopes + " " + digestText("x"))); err == nil {
			t.Errorf("scopes %q are accepted", scopes)
		}
	}
}
