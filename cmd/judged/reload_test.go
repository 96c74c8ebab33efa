package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/testkit"
)

// reloading is a daemon with a configuration file and tokens.
type reloading struct {
	t                     *testing.T
	config, tokens, data  string
	url, log              string
	signal                func(syscall.Signal)
	exited                <-chan error
	open                  bool   // without token_file
	http                  string // additional settings of [http]
	limits                string // settings of [limits]
	broken, tokenProblems string // text that makes the files unusable
}

// write writes the files. The names are also the tokens.
func (r *reloading) write(names ...string) {
	r.t.Helper()
	var tokens strings.Builder
	for _, n := range names {
		fmt.Fprintf(&tokens, "%s submit,read,admin,metrics %x\n", n, sha256.Sum256([]byte(n)))
	}
	file := fmt.Sprintf("token_file = %q\n", r.tokens)
	if r.open {
		file = ""
	}
	text := fmt.Sprintf("data_dir = %q\n[http]\nlisten = \"127.0.0.1:0\"\n%s%s%s%s", r.data, file, r.http, r.limits,
		r.broken)
	for path, content := range map[string]string{r.tokens: tokens.String() + r.tokenProblems, r.config: text} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

func startReloading(t *testing.T, change ...func(*reloading)) *reloading {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	dir := t.TempDir()
	r := &reloading{t: t, config: filepath.Join(dir, "judged.toml"), tokens: filepath.Join(dir, "tokens"),
		data: filepath.Join(dir, "data"), log: filepath.Join(dir, "log")}
	for _, f := range change {
		f(r)
	}
	r.write("ann")
	cmd := command("serve", "-c", r.config)
	log, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	r.exited = exited
	r.signal = func(s syscall.Signal) {
		t.Helper()
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatalf("signal %s: %v", s, err)
		}
	}
	brake := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if !brake.Stop() || err != nil {
		t.Fatalf("daemon said %q, not its URL: %v", line, err)
	}
	r.url = strings.TrimSpace(line)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the process has exited unless the test failed
		if t.Failed() {
			t.Logf("it said:\n%s", r.said())
		}
	})
	return r
}

func (r *reloading) said() string {
	text, err := os.ReadFile(r.log)
	if err != nil {
		r.t.Error(err)
	}
	return string(text)
}

func (r *reloading) client(token string) client.Client {
	return client.Client{Base: r.url, Token: token}
}

// reload sends SIGHUP and waits for the log line with the result.
func (r *reloading) reload(want ...string) {
	r.t.Helper()
	before := len(r.said())
	r.signal(syscall.SIGHUP)
	var said string
	testkit.WaitFor(r.t, time.Minute, fmt.Sprintf("the log to have %q", want), func() bool {
		said = r.said()[before:]
		for _, w := range want {
			if !strings.Contains(said, w) {
				return false
			}
		}
		return true
	})
}

// status returns the status of a request with that token.
func (r *reloading) status(token string) int {
	_, err := r.client(token).Slots(r.t.Context())
	p := (*client.Problem)(nil)
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &p):
		return p.Status
	}
	r.t.Errorf("GET /v1/slots: %v", err)
	return 0
}

// submit returns the status of submitting a job with a limit of 10 s.
func (r *reloading) submit(token, id string) int {
	text := "#!/bin/sh\n"
	_, err := r.client(token).Submit(r.t.Context(), id,
		api.Job{Program: api.File{Text: &text}, Tests: []api.Test{{Name: "1"}}, Limits: api.Limits{CPUTimeMS: 10_000}})
	if p, ok := errors.AsType[*client.Problem](err); ok {
		return p.Status
	} else if err != nil {
		r.t.Errorf("submit: %v", err)
	}
	return http.StatusAccepted
}

// TestReload: SIGHUP applies tokens and limits, names settings that need a restart, rejects files with an error as a
// whole, and never stops the daemon.
func TestReload(t *testing.T) {
	r := startReloading(t)
	statuses := func() [2]int { return [2]int{r.status("ann"), r.status("bob")} }
	if got := [3]int{r.status("ann"), r.status("bob"), r.submit("ann", "before")}; got != [3]int{200, 401, 202} {
		t.Errorf("ann, bob, a job of 10 s: %v", got)
	}

	r.limits = "[limits.default]\ncpu_time = \"1s\"\n[limits.max]\ncpu_time = \"5s\"\n[log]\nlevel = \"debug\"\n"
	r.write("bob")
	r.reload("reloaded configuration and tokens", "by=SIGHUP",
		`changed="[limits.default.cpu_time limits.max.cpu_time log.level]"`, `tokens=[bob]`)
	if got := [3]int{r.status("ann"), r.status("bob"), r.submit("bob", "after")}; got != [3]int{401, 200, 400} {
		t.Errorf("after the first reload: ann, bob, a job of 10 s: %v", got)
	}
	if !strings.Contains(r.said(), "level=DEBUG") {
		t.Error("the log level did not change")
	}

	for _, tt := range []struct {
		name, broken, tokens, want string
	}{
		{"syntax", "[limits\n", "", "judged.toml:11:"},
		{"unknown key", "[queue]\nmost = 3\n", "", "judged.toml:12: queue.most: unknown key"},
		{"out of range", "[queue]\nmax_waiting = 0\n", "", "queue.max_waiting"},
		{"token file", "", "eve\n", "line 2: 1 fields"},
	} {
		r.broken, r.tokenProblems = tt.broken, tt.tokens
		r.write("ann")
		r.reload("cannot reload configuration and tokens; the current ones stay in force", "by=SIGHUP", tt.want)
		if diff := cmp.Diff([2]int{401, 200}, statuses()); diff != "" {
			t.Errorf("%s: ann and bob after it (-want +got):\n%s", tt.name, diff)
		}
	}

	r.broken, r.tokenProblems, r.data = "[slots]\npool = \"other\"\n", "", r.data+"2"
	r.write("ann", "bob")
	r.reload(`tokens="[ann bob]"`, "these settings need a restart of judged",
		`settings="[data_dir slots.pool]"`)
	if diff := cmp.Diff([2]int{200, 200}, statuses()); diff != "" {
		t.Errorf("ann and bob in the end (-want +got):\n%s", diff)
	}
	r.signal(syscall.SIGTERM)
	r.signal(syscall.SIGHUP)
	if err := <-r.exited; err != nil {
		t.Errorf("it ended with %v, want a drain", err)
	}
}

// TestReloadAddsTokens: a reload that adds token_file takes effect. While the file cannot be read, all requests are
// refused; if it is removed from the configuration, tokens are still required.
func TestReloadAddsTokens(t *testing.T) {
	r := startReloading(t, func(r *reloading) { r.open = true })
	statuses := func() [2]int { return [2]int{r.status(""), r.status("ann")} }
	want := func(when string, none, ann int) {
		t.Helper()
		if diff := cmp.Diff([2]int{none, ann}, statuses()); diff != "" {
			t.Errorf("%s: without a token and with one (-want +got):\n%s", when, diff)
		}
	}
	want("open", 200, 200)
	if got := r.submit("", "streamed"); got != http.StatusAccepted {
		t.Fatalf("submit: %d", got)
	}
	feed, err := http.Get(r.url + "/v1/jobs/streamed/events")
	if err != nil || feed.StatusCode != http.StatusOK {
		t.Fatalf("open a stream of events: %v", err)
	}
	defer feed.Body.Close()

	r.open, r.tokenProblems = false, "eve\n"
	r.write("ann")
	r.reload("refusing requests", "http.token_file is set and cannot be read", "the current ones stay in force",
		"line 2: 1 fields")
	want("with a token file that cannot be read", 503, 503)
	if _, err := io.ReadAll(feed.Body); err != nil {
		t.Errorf("the stream that was open: %v, want its end", err)
	}

	r.tokenProblems = ""
	r.write("ann")
	r.reload("reloaded configuration and tokens", "http.token_file", "tokens=[ann]")
	want("with tokens", 401, 200)

	r.open = true
	r.write("ann")
	r.reload("these settings need a restart of judged", "settings=[http.token_file]")
	want("without token_file again", 401, 200)

	r.http = "cert_file = \"c\"\nkey_file = \"k\"\n"
	r.write("ann")
	r.reload("refusing requests", "http.cert_file protects judged only after a restart")
	want("with a certificate that takes a restart", 503, 503)
	r.http = ""
	r.write("ann")
	r.reload("reloaded configuration and tokens")
	want("without the certificate", 401, 200)
	r.signal(syscall.SIGTERM)
	if err := <-r.exited; err != nil {
		t.Errorf("it ended with %v, want a drain", err)
	}
}

// TestReloadReadsCertificates: SIGHUP replaces the certificate for new connections. Files that do not match change
// nothing.
func TestReloadReadsCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	first := writeCertificate(t, cert, key)
	r := startReloading(t, func(r *reloading) {
		r.http = fmt.Sprintf("cert_file = %q\nkey_file = %q\n", cert, key)
	})
	if !strings.HasPrefix(r.url, "https://") {
		t.Fatalf("it serves %s", r.url)
	}
	want := func(when string, roots *x509.CertPool, works bool) {
		t.Helper()
		c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots},
			DisableKeepAlives: true}}
		answer, err := c.Get(r.url + "/healthz")
		if err == nil {
			answer.Body.Close()
		}
		if (err == nil) != works {
			t.Errorf("%s: %v", when, err)
		}
	}
	want("the first certificate", first, true)
	second := writeCertificate(t, cert, key)
	want("before the reload", first, true)
	r.reload("reloaded configuration and tokens")
	want("the second certificate", second, true)
	want("who trusts the first only", first, false)
	if err := os.WriteFile(cert, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.reload("the current ones stay in force", "http.cert_file: read", "PEM")
	want("after a file that is no certificate", second, true)
	r.signal(syscall.SIGTERM)
	if err := <-r.exited; err != nil {
		t.Errorf("it ended with %v, want a drain", err)
	}
}

// writeCertificate writes a certificate for 127.0.0.1, and returns a pool that trusts it.
func writeCertificate(t *testing.T, cert, key string) *x509.CertPool {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{{127, 0, 0, 1}}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, content := range map[string][]byte{cert: certificate,
		key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return roots
}

// TestSettingsAreCheckedFirst: an unusable setting is wrong usage, with the name of its key, before the daemon prints
// its URL or creates a folder.
func TestSettingsAreCheckedFirst(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	junk, empty, absent := file("junk", "x\n"), file("empty", "\n"), filepath.Join(dir, "absent")
	cert, key, otherKey := filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "key2")
	writeCertificate(t, filepath.Join(dir, "cert2"), otherKey)
	writeCertificate(t, cert, key)
	pair := func(c, k string) string { return fmt.Sprintf("[http]\ncert_file = %q\nkey_file = %q", c, k) }
	judge := func(more, path string) string {
		return fmt.Sprintf("[fleet]\nrole = \"judge\"\nfront = \"http://127.0.0.1:1\"\n%s = %q", more, path)
	}
	one := func(section, name, value string) string { return fmt.Sprintf("[%s]\n%s = %q", section, name, value) }
	tokens := fmt.Sprintf("%s\ntoken_file = %q", one("http", "listen", "192.0.2.7:0"),
		file("tokens", fmt.Sprintf("a read %x", sha256.Sum256([]byte("a")))))
	for _, tt := range []struct {
		name, config, key string
		needs             bool // needs root: the check comes after that of privileges
	}{
		{"no tokens for everybody", one("http", "listen", "0.0.0.0:0"), "http.listen", false},
		{"an address of another machine", tokens, "http.listen", false},
		{"no token file", one("http", "token_file", absent), "http.token_file", false},
		{"a folder", one("http", "token_file", dir), "http.token_file", false},
		{"no tokens in it", one("http", "token_file", empty), "http.token_file", false},
		{"no certificate file", pair(absent, key), "http.cert_file", false},
		{"no certificate", pair(junk, key), "http.cert_file", false},
		{"a folder as certificate", pair(dir, key), "http.cert_file", false},
		{"no key file", pair(cert, absent), "http.key_file", false},
		{"the key of another", pair(cert, otherKey), "http.cert_file", false},
		{"no file of the node", judge("node_token_file", absent), "fleet.node_token_file", false},
		{"no token of the node", judge("node_token_file", empty), "fleet.node_token_file", false},
		{"no file of the CA", judge("ca_file", absent), "fleet.ca_file", false},
		{"no CA", judge("ca_file", junk), "fleet.ca_file", false},
		{"no languages", one("languages", "file", absent), "languages.file", false},
		{"invalid languages", one("languages", "file", junk), "languages.file", false},
		{"no member of the pool", one("slots", "pool_member", absent), "slots.pool_member", false},
		{"invalid member of the pool", one("slots", "pool_member", junk), "slots.pool_member", false},
		{"invalid database", one("database", "url", "postgres://%zz"), "database.url", false},
		{"a file as folder of blobs", one("blobs", "url", "file://"+junk), "blobs.url", false},
		{"a CPU that is not there", one("slots", "cpu_list", "4097"), "slots.cpu_list", true},
		{"too wide", "[slots]\nwidth = 1024", "slots.width", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.needs {
				testkit.Need(t, testkit.Root)
			}
			data := filepath.Join(t.TempDir(), "data")
			cmd := command("serve", "-c", file("judged.toml", tt.config), "--data-dir", data)
			if !strings.Contains(tt.config, "listen") {
				cmd.Args = append(cmd.Args, "--listen", "127.0.0.1:0")
			}
			var out, log strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &log
			brake := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			err := cmd.Run()
			brake.Stop()
			if code := cmd.ProcessState.ExitCode(); code != exitUsage || out.String() != "" ||
				!strings.Contains(log.String(), "judged: "+tt.key+": ") {
				t.Errorf("%v, exit code %d, stdout %q, want %d and %q in:\n%s", err, code, out.String(), exitUsage,
					tt.key, log.String())
			}
			if _, err := os.Stat(data); err == nil && !tt.needs && tt.key != "blobs.url" {
				t.Error("it made its data folder before it looked")
			}
		})
	}
}

// TestLogsWhoDidIt checks the log lines that operators look for.
func TestLogsWhoDidIt(t *testing.T) {
	r := startReloading(t)
	ctx, ann := context.WithTimeout(t.Context(), time.Minute)
	defer ann()
	c := r.client("ann")
	all, err := c.Slots(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cpus := all[0].CPUs
	if _, err := c.Drain(ctx, cpus, "new fan"); err != nil {
		t.Fatal(err)
	}
	if got := r.submit("ann", "waits"); got != http.StatusAccepted {
		t.Errorf("submit: %d", got)
	}
	if _, err := c.Cancel(ctx, "waits"); err != nil {
		t.Error(err)
	}
	if _, err := c.Undrain(ctx, cpus); err != nil {
		t.Error(err)
	}
	r.signal(syscall.SIGTERM)
	if err := <-r.exited; err != nil {
		t.Errorf("it ended with %v", err)
	}
	var got []string
	for line := range strings.Lines(r.said()) {
		if _, line, _ = strings.Cut(line, "level=INFO "); strings.Contains(line, "msg=") &&
			!strings.Contains(line, "fit to judge") {
			got = append(got, strings.ReplaceAll(strings.TrimSpace(line), `"`, "")) // some values need quotes
		}
	}
	want := []string{
		fmt.Sprintf(`msg=serving version=%s revision=%s role=all cpus=[%s] pool=default data_dir=%s database=sqlite `+
			`address=%s protected=true`, version, revision(), cpus, r.data, strings.TrimPrefix(r.url, "http://")),
		fmt.Sprintf(`msg=drained a slot cpus=%s reason=new fan by=ann`, cpus),
		`msg=cancelled a job job=waits by=ann`,
		fmt.Sprintf(`msg=undrained a slot cpus=%s by=ann`, cpus),
		`msg=draining: running jobs are finished`, `msg=stopped`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
