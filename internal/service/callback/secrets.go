package callback

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"judged/internal/base/config"
	"judged/internal/base/text"
)

// Secrets are the signing keys by tenant; "" is for jobs without a tenant. A nil *Secrets has no keys.
type Secrets struct {
	keys  map[string][]*webhooks.Webhook
	lines map[string]int // tenant -> its first line in the file
}

// Bounds of a secret in bytes, from the specification of Standard Webhooks.
const (
	minSecret = 24
	maxSecret = 64
)

// secretText matches text that errors must not quote.
var secretText = text.Pattern(`whsec_|[A-Za-z0-9+/]{32}`)

// LoadSecrets reads a file of secrets in the format of ParseSecrets. The tenants must be among those of the
// configuration.
func LoadSecrets(path string, tenants []config.Tenant) (*Secrets, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w; give a file that judged can read", err)
	}
	defer f.Close()
	s, err := ParseSecrets(f)
	if err == nil {
		err = s.checkTenants(tenants)
	}
	if err != nil {
		return nil, fmt.Errorf("read secrets from %s: %w", path, err)
	}
	return s, nil
}

// checkTenants returns an error for a tenant that the configuration does not have: the secret of a misspelled name would
// sign nothing.
func (s *Secrets) checkTenants(known []config.Tenant) error {
	for _, name := range slices.Sorted(maps.Keys(s.lines)) {
		if name != "" && !slices.ContainsFunc(known, func(k config.Tenant) bool { return k.Name == name }) {
			return fmt.Errorf("line %d: unknown tenant %.70q; correct it, or add [[tenants]] with that name to the "+
				"configuration", s.lines[name], name)
		}
	}
	return nil
}

// ParseSecrets parses lines "SECRET" and "TENANT SECRET". A tenant may have several secrets: each callback is signed
// with all of them, so that secrets can be rotated. Empty lines and lines that start with # are ignored. Errors name
// the line and never quote a secret.
func ParseSecrets(r io.Reader) (*Secrets, error) {
	s := &Secrets{map[string][]*webhooks.Webhook{}, map[string]int{}}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		key, err := parseSecret(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		tenant := strings.Join(fields[:len(fields)-1], "")
		if s.keys[tenant] = append(s.keys[tenant], key); len(s.keys[tenant]) == 1 {
			s.lines[tenant] = n
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(s.keys) == 0 {
		return nil, errors.New("no secrets; add a line whsec_BASE64")
	}
	return s, nil
}

func parseSecret(fields []string) (*webhooks.Webhook, error) {
	text, prefixed := strings.CutPrefix(fields[len(fields)-1], "whsec_")
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	switch {
	case len(fields) > 2:
		return nil, fmt.Errorf("%d fields; write SECRET or TENANT SECRET", len(fields))
	case len(fields) == 2 && secretText().MatchString(fields[0]):
		return nil, errors.New("a secret is not the last field; write SECRET or TENANT SECRET")
	case !prefixed || err != nil || len(key) < minSecret || len(key) > maxSecret:
		return nil, fmt.Errorf(`no secret; write "whsec_" and %d to %d bytes in base64, such as the output of: `+
			`echo "whsec_$(openssl rand -base64 32)"`, minSecret, maxSecret)
	}
	return webhooks.NewWebhookRaw(key)
}

// has reports whether a tenant has a secret.
func (s *Secrets) has(tenant string) bool { return s != nil && len(s.keys[tenant]) > 0 }

// sign returns the signatures of a message, one for each secret of the tenant.
func (s *Secrets) sign(tenant, id string, at time.Time, body []byte) (string, error) {
	if !s.has(tenant) {
		return "", errNoSecret
	}
	var all []string
	for _, key := range s.keys[tenant] {
		one, err := key.Sign(id, at, body)
		if err != nil {
			return "", fmt.Errorf("sign a callback: %w", err)
		}
		all = append(all, one)
	}
	return strings.Join(all, " "), nil
}

// digest returns a short digest of the secrets, "" if there are none. It does not depend on the order of the file.
func (s *Secrets) digest() string {
	if s == nil {
		return ""
	}
	var lines []string
	for tenant, keys := range s.keys {
		for _, key := range keys {
			// A signature identifies the key, which the library does not return.
			signature, err := key.Sign("", time.Unix(0, 0), nil)
			lines = append(lines, fmt.Sprintf("%q %s %v", tenant, signature, err))
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// errNoSecret means that callbacks.secret_file has no secret for the tenant of a job.
var errNoSecret = errors.New("callbacks.secret_file has no secret for it")
