package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
)

// index is the web page. It contains no data: its script reads the JSON routes, with a token if one is needed, and
// inserts text, never markup.
//
//go:embed index.html
var index []byte

// page serves index with the policy that permits exactly its script and style.
type page struct {
	policy string
}

func newPage() page {
	return page{
		policy: "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" +
			"; script-src " + hashOf("script") + "; style-src " + hashOf("style"),
	}
}

// hashOf returns the policy source for the only element with this name in index.
func hashOf(element string) string {
	_, rest, _ := bytes.Cut(index, []byte("<"+element+">"))
	content, _, _ := bytes.Cut(rest, []byte("</"+element+">"))
	sum := sha256.Sum256(content)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (s *Server) getPage(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Security-Policy", s.page.policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	s.write(w, http.StatusOK, index)
	return nil
}
