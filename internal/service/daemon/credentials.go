package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"judged/internal/base/config"
	"judged/internal/service/callback"
	"judged/internal/service/httpapi"
	"judged/internal/service/judgehost"
)

// SettingError reports a setting whose value is valid but cannot be used on this host.
type SettingError struct {
	Key string
	Err error // ends with the next step
}

func (e *SettingError) Error() string { return e.Key + ": " + e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }

func unusable(key, format string, args ...any) error {
	return &SettingError{key, fmt.Errorf(format, args...)}
}

// credentials are the contents of the files that the configuration names. A reload reads them again.
type credentials struct {
	tokens      *httpapi.Tokens  // nil: requests need no token
	certificate *tls.Certificate // nil: HTTP
	nodeToken   string           // of a judge, "" if it has none
	roots       *x509.CertPool   // CAs that a judge trusts, nil for those of the system
	callbacks   callback.Settings
	judgehost   judgehost.Server // with judgehost.url
}

// readCredentials reads and checks all files. It returns a SettingError for each unusable one.
func readCredentials(c config.Config) (credentials, error) {
	var read credentials
	var errs [6]error
	read.tokens, errs[0] = readTokens(c)
	read.certificate, errs[1] = readCertificate(c.HTTP)
	read.callbacks, errs[4] = readCallbacks(c.Callbacks, c.Tenants)
	if j := c.Judgehost; j.URL != "" {
		read.judgehost, errs[5] = readJudgehost(j)
	}
	if c.Fleet.Role == config.RoleJudge {
		read.nodeToken, errs[2] = readNodeToken(c.Fleet)
		read.roots, errs[3] = readRoots(c.Fleet)
	}
	return read, errors.Join(errs[:]...)
}

func readTokens(c config.Config) (*httpapi.Tokens, error) {
	const open = "listen on %s: without tokens judged listens on this machine only; set http.token_file or " +
		"--token-file, or listen on 127.0.0.1"
	switch {
	case c.HTTP.TokenFile != "":
	case !c.HTTP.Loopback():
		return nil, unusable("http.listen", open, c.HTTP.Listen)
	case !c.Judge0.Loopback():
		return nil, unusable("judge0.listen", open, c.Judge0.Listen)
	default:
		return nil, nil
	}
	tokens, err := httpapi.LoadTokens(c.HTTP.TokenFile, c.Tenants)
	if err != nil {
		return nil, &SettingError{"http.token_file", err}
	}
	return tokens, nil
}

func readCallbacks(c config.Callbacks, tenants []config.Tenant) (s callback.Settings, err error) {
	if s.Policy, err = callback.NewPolicy(c); err != nil {
		return s, &SettingError{"callbacks.allow", err}
	}
	if c.SecretFile == "" {
		return s, nil
	}
	if s.Secrets, err = callback.LoadSecrets(c.SecretFile, tenants); err != nil {
		return s, &SettingError{"callbacks.secret_file", err}
	}
	return s, nil
}

func readJudgehost(j config.Judgehost) (judgehost.Server, error) {
	s, err := judgehost.ReadServer(j.URL, j.CredentialsFile)
	if err != nil {
		err = &SettingError{"judgehost.credentials_file", err}
	}
	return s, err
}

func readCertificate(h config.HTTP) (*tls.Certificate, error) {
	if h.CertFile == "" {
		return nil, nil
	}
	cert, err := os.ReadFile(h.CertFile)
	if err != nil {
		return nil, unusable("http.cert_file", "%w; give a file with a certificate in PEM format", err)
	}
	key, err := os.ReadFile(h.KeyFile)
	if err != nil {
		return nil, unusable("http.key_file", "%w; give the file with the key of http.cert_file in PEM format", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, unusable("http.cert_file",
			"read %q with the key %q: %s; give a certificate and its key in PEM format",
			h.CertFile, h.KeyFile, strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &pair, nil
}

func readNodeToken(f config.Fleet) (string, error) {
	if f.TokenFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(f.TokenFile)
	if err != nil {
		return "", unusable("fleet.node_token_file", "%w; give the file with the token of the node", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", unusable("fleet.node_token_file",
			"%q does not hold a token; write the token into it, and nothing else", f.TokenFile)
	}
	return token, nil
}

func readRoots(f config.Fleet) (*x509.CertPool, error) {
	if f.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(f.CAFile)
	if err != nil {
		return nil, unusable("fleet.ca_file", "%w; give the file with the certificate of the CA", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, unusable("fleet.ca_file", "%q has no certificate in PEM format; give the file of the CA", f.CAFile)
	}
	return roots, nil
}

// frontAccess sends requests to the front with the current credentials.
type frontAccess struct{ current atomic.Pointer[access] }

type access struct {
	token     string
	transport *http.Transport
}

// use makes later requests use other credentials.
func (f *frontAccess) use(c credentials) {
	transport := http.DefaultTransport.(*http.Transport).Clone() // the type is documented
	transport.DisableCompression = true                          // the front is near, and its CPUs are busy
	if c.roots != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12}
	}
	// A front that disappears without closing the connection must not hold a request for hours.
	transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 5 * time.Second}).DialContext
	transport.MaxIdleConnsPerHost = 16
	if before := f.current.Swap(&access{c.nodeToken, transport}); before != nil {
		before.transport.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (f *frontAccess) RoundTrip(r *http.Request) (*http.Response, error) {
	a := f.current.Load()
	if a.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	return a.transport.RoundTrip(r)
}
