package httpapi

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"

	"judged/internal/base/config"
	"judged/internal/base/text"
	"judged/internal/jobs"
)

// Scope is a permission of a token.
type Scope string

// The scopes. No scope includes another.
const (
	Submit  Scope = "submit"
	Read    Scope = "read"
	Admin   Scope = "admin"
	Metrics Scope = "metrics"
	// Node is for judge nodes. "node:POOL" is for nodes of one pool.
	Node Scope = "node"
)

// Tokens are the accepted bearer tokens. With a nil *Tokens, requests need no token.
type Tokens struct {
	entries []entry
}

// entry holds the hash of a token, so that the file does not reveal the token.
type entry struct {
	line   int // of the file
	name   string
	tenant string // "" sees and changes everything that its scopes permit
	grants []grant
	hash   [sha256.Size]byte
}

// grant is a scope with its restriction.
type grant struct {
	scope Scope
	pool  string // of judge nodes, "" for any pool
}

// sameRights reports whether two entries grant the same permissions.
func sameRights(a, b entry) bool {
	a.hash, a.line = b.hash, b.line
	return reflect.DeepEqual(a, b)
}

// LoadTokens reads a file of tokens, see ParseTokens. The tenants must be among those of the configuration.
func LoadTokens(path string, tenants []config.Tenant) (*Tokens, error) {
	t, err := ReadTokens(path)
	if err != nil {
		return nil, err
	}
	if err := t.checkTenants(tenants); err != nil {
		return nil, fmt.Errorf("read tokens from %s: %w", path, err)
	}
	return t, nil
}

// ReadTokens reads a file of tokens, with any tenants.
func ReadTokens(path string) (*Tokens, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w; give a file that judged can read", err)
	}
	defer f.Close()
	t, err := ParseTokens(f)
	if err != nil {
		return nil, fmt.Errorf("read tokens from %s: %w", path, err)
	}
	return t, nil
}

// ParseTokens parses lines "NAME SCOPES SHA256HEX [TENANT]", with scopes separated by commas. A name may have several
// secrets, so that an old and a new one overlap. Empty lines and lines that start with # are ignored. Errors name the
// line and never quote a hash.
func ParseTokens(r io.Reader) (*Tokens, error) {
	t := &Tokens{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseEntry(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		e.line = n
		for _, other := range t.entries {
			switch {
			case other.hash == e.hash:
				return nil, fmt.Errorf("line %d: a line above has the same token; give each line its own", n)
			case other.name != e.name:
			case !sameRights(other, e):
				return nil, fmt.Errorf("line %d: name %q has other scopes or another tenant in a line above; two secrets "+
					"of one name need the same, else choose another name", n, e.name)
			}
		}
		t.entries = append(t.entries, e)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(t.entries) == 0 {
		return nil, fmt.Errorf("no tokens; add a line " + tokenLine)
	}
	return t, nil
}

// checkTenants returns an error for a tenant that the configuration does not have: a misspelled name would be a tenant
// without jobs.
func (t *Tokens) checkTenants(known []config.Tenant) error {
	for _, e := range t.entries {
		if e.tenant != "" && !slices.ContainsFunc(known, func(k config.Tenant) bool { return k.Name == e.tenant }) {
			return fmt.Errorf("line %d: unknown tenant %q; correct it, or add [[tenants]] with name = %[2]q to the "+
				"configuration", e.line, e.tenant)
		}
	}
	return nil
}

// Names returns the names of the tokens, or nil if requests need no token.
func (t *Tokens) Names() []string {
	if t == nil {
		return nil
	}
	var names []string
	for _, e := range t.entries {
		if !slices.Contains(names, e.name) {
			names = append(names, e.name)
		}
	}
	return names
}

// by returns the caller for the log: the name of the token, or the address if requests need no token.
func by(r *http.Request) slog.Attr {
	return slog.String("by", cmp.Or(caller(r.Context()), r.RemoteAddr))
}

// TokenDigest returns a short digest of the tokens that a server accepts, "" if requests need no token. It does not
// depend on the order of the file.
func (s *Server) TokenDigest() string {
	if s.tokens == nil {
		return ""
	}
	var lines []string
	for _, e := range s.tokens.entries {
		lines = append(lines, fmt.Sprintf("%q %q %q %x", e.name, e.scopes(), e.tenant, e.hash))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// equal reports whether two sets of tokens grant the same permissions to the same secrets.
func (t *Tokens) equal(other *Tokens) bool {
	if t == nil || other == nil {
		return t == other
	}
	return slices.EqualFunc(t.entries, other.entries, func(a, b entry) bool { return a.hash == b.hash && sameRights(a, b) })
}

// hashText matches a SHA-256 in hex.
var hashText = text.Pattern("(?i)[0-9a-f]{64}")

const tokenLine = "NAME SCOPES SHA256HEX [TENANT]"

func parseEntry(line string) (entry, error) {
	fields := strings.Fields(line)
	if len(fields) != 3 && len(fields) != 4 {
		return entry{}, fmt.Errorf("%d fields; write %s", len(fields), tokenLine)
	}
	if hashText().MatchString(strings.Join(slices.Delete(slices.Clone(fields), 2, 3), " ")) {
		// Errors quote only the other fields, because they go to the log.
		return entry{}, fmt.Errorf("a SHA-256 is not the third field; write %s", tokenLine)
	}
	e := entry{name: fields[0]}
	if err := text.CheckLine(e.name, 255); err != nil { // it is in the log of what its owner does
		return entry{}, fmt.Errorf("invalid name: %w", err)
	}
	if len(fields) == 4 {
		if e.tenant = fields[3]; !config.ValidTenant(e.tenant) {
			return entry{}, fmt.Errorf("invalid tenant %.70q; use 1 to 64 letters, digits, - and _", e.tenant)
		}
	}
	for name := range strings.SplitSeq(fields[1], ",") {
		text, pool, limited := strings.Cut(name, ":")
		scope := Scope(text)
		if !slices.Contains([]Scope{Submit, Read, Admin, Metrics, Node}, scope) {
			return entry{}, fmt.Errorf("scope %q is unknown; use submit, read, admin, metrics, node, node:POOL", name)
		}
		if limited && (scope != Node || !config.ValidPool(pool)) {
			return entry{}, fmt.Errorf("scope %q has no pool; write node:POOL", name)
		}
		if e.tenant != "" && (scope == Metrics || scope == Node) {
			return entry{}, fmt.Errorf("scope %q with a tenant; it concerns all tenants, so leave one of them out", name)
		}
		e.grants = append(e.grants, grant{scope, pool})
	}
	hash, err := hex.DecodeString(fields[2])
	if err != nil || len(hash) != sha256.Size {
		return entry{}, fmt.Errorf(
			"the third field is not a SHA-256 in hex; write the output of: printf %%s TOKEN | sha256sum")
	}
	copy(e.hash[:], hash)
	if e.hash == sha256.Sum256(nil) { // printf %s "$TOKEN" without that variable
		return entry{}, errors.New("the SHA-256 is that of an empty text, which no request can send; write the output of: " +
			"printf %s TOKEN | sha256sum")
	}
	return e, nil
}

// mayServe reports whether a token may be used by judge nodes of a pool. It is valid for all pools that its scopes
// name.
func (t *Tokens) mayServe(name, pool string) bool {
	return t.grants(name, func(g grant) bool { return g.scope == Node && (g.pool == "" || g.pool == pool) })
}

// has reports whether a token has a scope.
func (t *Tokens) has(name string, scope Scope) bool {
	return t.grants(name, func(g grant) bool { return g.scope == scope })
}

func (t *Tokens) grants(name string, what func(grant) bool) bool {
	return slices.ContainsFunc(t.entries, func(e entry) bool {
		return e.name == name && slices.ContainsFunc(e.grants, what)
	})
}

// find compares with every entry, so that its duration does not depend on which entry matched, or how closely.
func (t *Tokens) find(token string) (found entry, ok bool) {
	hash := sha256.Sum256([]byte(token))
	for _, e := range t.entries {
		if subtle.ConstantTimeCompare(hash[:], e.hash[:]) == 1 {
			found, ok = e, true
		}
	}
	return found, ok
}

// authorize returns the token of the caller, or the reason why the request is refused. A route without scopes is open
// to all. The entry is empty if no token is needed.
func (s *Server) authorize(r *http.Request, scopes []Scope) (entry, error) {
	return s.admit(r, scopes, func() (string, error) {
		if n := len(r.Header.Values("Authorization")); n > 1 {
			return "", problem("bad-request", "send one", "%d headers Authorization", n)
		}
		token, ok := bearer(r.Header.Get("Authorization"))
		if !ok {
			return "", problem("unauthorized", "send the header Authorization: Bearer TOKEN",
				"this needs a bearer token").with("WWW-Authenticate", `Bearer realm="judged"`)
		}
		return token, nil
	})
}

// admit is authorize for a token from any place in the request.
func (s *Server) admit(r *http.Request, scopes []Scope, read func() (token string, err error)) (entry, error) {
	if s.refused != "" && len(scopes) > 0 {
		return entry{}, problem("not-ready", "send it again when the operator has done that", "%s",
			s.refused).retryAfter(retryNotReady)
	}
	if s.tokens == nil {
		return entry{}, localHost(r)
	}
	if len(scopes) == 0 {
		return entry{}, nil
	}
	token, err := read()
	if err != nil {
		return entry{}, err
	}
	e, known := s.tokens.find(token)
	if !known {
		return entry{}, problem(
			"unauthorized", "check it for changes, and ask the operator whether it is still in http.token_file",
			"the token is unknown",
		).with("WWW-Authenticate", `Bearer realm="judged", error="invalid_token", error_description="the token is unknown"`)
	}
	for _, scope := range scopes {
		if slices.ContainsFunc(e.grants, func(g grant) bool { return g.scope == scope }) {
			return e, nil
		}
	}
	return entry{}, problem("forbidden", "ask the operator for a token with that scope",
		"the token lacks the scope %s", scopes[0])
}

// operators returns a handler that refuses tokens of a tenant: what it shows or changes belongs to no tenant.
func operators(handle func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if name := jobs.TenantOf(r.Context()); name != "" {
			return problem("forbidden", "ask the operator for a token without a tenant",
				"the token belongs to the tenant %s, and this concerns all tenants", name)
		}
		return handle(w, r)
	}
}

// bearer returns the token in a header. The name of the scheme may have any case (RFC 9110, 11.1), and some clients
// write it in lower case.
func bearer(header string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.TrimLeft(token, " ")
	return token, ok && token != "" && strings.EqualFold(scheme, "Bearer")
}

// localHost protects a daemon without tokens. It listens on loopback only, but a web page in a browser on this machine
// could reach it under a domain name that resolves to 127.0.0.1 (DNS rebinding), and would be same-origin.
func localHost(r *http.Request) error {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	host = strings.Trim(host, "[]")
	addr, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && addr.Unmap().IsLoopback() {
		return nil
	}
	return problem("misdirected", "use 127.0.0.1 or localhost, or set http.token_file",
		"without tokens this host answers to loopback addresses only")
}
