package daemon

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/testkit"
)

// behind returns the settings of a judge that reaches its front through a proxy.
func behind(t *testing.T, p *testkit.Proxy, front config.Config, name string) config.Config {
	c := nodeSettings(t, front, name)
	c.Fleet.Front = p.URL()
	return c
}

// TestFleetLostAnswers cuts the connection of a judge in the middle of each kind of response, and checks that no job
// needs a second attempt.
func TestFleetLostAnswers(t *testing.T) {
	t.Parallel() // measures nothing
	c := frontSettings(t)
	front := serving(t, c)
	p := testkit.StartProxy(t, c.HTTP.Listen)
	node := serving(t, behind(t, p, c, "judge-1"))
	testkit.WaitFor(t, patience, "the judge", func() bool { return front.Ready(front.ctx) == nil })
	large := api.Job{Program: *text("#!/bin/sh\ncat\n#" + strings.Repeat("x", 1<<20)),
		Tests: []api.Test{{Name: "1", Input: text("1"), Answer: text("1")}}}
	two := api.Job{Program: *text("#!/bin/sh\ncat\n"), Tests: []api.Test{{Name: "1", Input: text("1"), Answer: text("1")},
		{Name: "2", Input: text("2"), Answer: text("2")}}}
	for _, tt := range []struct {
		name    string
		request string
		without string
		bytes   int
		job     api.Job
	}{
		{"take", "POST /v1/work/take", "", 0, front.sum(1, false)},
		{"half-take", "POST /v1/work/take", "", 150, front.sum(2, false)},
		{"heartbeat", "POST /v1/work/extend", "wait_ms", 0, front.busy(6000)},
		{"test", "POST /v1/work/emit", "", 0, two},
		{"report", "POST /v1/work/finish", "", 0, front.sum(3, false)},
		{"half-report", "POST /v1/work/finish", "", 20, front.sum(4, false)},
		{"half-blob", "GET /v1/blobs/", "", 100 << 10, large},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lost := p.Lose(tt.bytes, func(request string) bool {
				return strings.HasPrefix(request, tt.request) && (tt.without == "" || !strings.Contains(request,
					tt.without))
			})
			// An earlier request of the judge still waits for a job.
			front.submit(tt.name+"-before", front.sum(0, false))
			front.submit(tt.name, tt.job)
			if r := front.finish(tt.name); r.Verdict != api.Accepted || r.Attempt != 1 {
				t.Errorf("report: %s in attempt %d: %s", r.Verdict, r.Attempt, r.Message)
			}
			select {
			case <-lost:
			case <-time.After(patience):
				t.Error("no such request was made")
			}
			if r := front.finish(tt.name + "-before"); r.Verdict != api.Accepted || r.Attempt != 1 {
				t.Errorf("report of the job before: %s in attempt %d: %s", r.Verdict, r.Attempt, r.Message)
			}
		})
	}
	t.Run("all cut", func(t *testing.T) {
		front.submit("cut", front.busy(1000))
		front.reach("cut", api.Running)
		p.Cut()
		if r := front.finish("cut"); r.Verdict != api.Accepted || r.Attempt != 1 {
			t.Errorf("report: %s in attempt %d: %s", r.Verdict, r.Attempt, r.Message)
		}
	})
	t.Run("slow", func(t *testing.T) {
		p.Delay(300 * time.Millisecond)
		defer p.Delay(0)
		front.submit("slow", front.sum(6, false))
		if r := front.finish("slow"); r.Verdict != api.Accepted || r.Attempt != 1 {
			t.Errorf("report: %s in attempt %d: %s", r.Verdict, r.Attempt, r.Message)
		}
	})
	node.drain()
	front.drain()
}

// TestFleetUpgrade upgrades two fronts and a judge one after the other to a judged with another version of the node
// protocol, and back, while jobs are submitted.
func TestFleetUpgrade(t *testing.T) {
	t.Parallel() // measures nothing
	const this, next, distant = protocolsEnv + "=1 1", protocolsEnv + "=1 2", protocolsEnv + "=2 3"
	ca, cb := twoFronts(t, "file://"+t.TempDir())
	a, b := serving(t, ca, this), serving(t, cb, this)
	p := testkit.StartProxy(t, ca.HTTP.Listen, cb.HTTP.Listen)
	settingsOf := behind(t, p, ca, "judge-1")
	node := serving(t, settingsOf, this)

	var load errgroup.Group
	var finished atomic.Int64
	loading, stop := context.WithCancel(a.ctx)
	defer stop()
	platform := newClient(t, p.URL())
	for w := range 4 {
		load.Go(func() error {
			for n := 0; loading.Err() == nil; n++ {
				id := fmt.Sprintf("job-%d-%d", w, n)
				ask := func() error { _, err := platform.Submit(a.ctx, id, echo(n%9)); return err }
				if err := insist(ask); err != nil {
					return fmt.Errorf("submit %s: %w", id, err)
				}
				read := func() error {
					r, err := platform.Wait(a.ctx, id)
					if err == nil && r.Verdict != api.Accepted {
						err = fmt.Errorf("%s %s in attempt %d: %s", r.State, r.Verdict, r.Attempt, r.Message)
					}
					return err
				}
				if err := insist(read); err != nil {
					return fmt.Errorf("wait for %s: %w", id, err)
				}
				finished.Add(1)
			}
			return nil
		})
	}
	update := func(d *instance, c config.Config, version string) *instance {
		d.drain()
		d = serving(t, c, version)
		target := finished.Load() + 10
		testkit.WaitFor(t, patience, "jobs after an update", func() bool { return finished.Load() >= target })
		return d
	}
	a = update(a, ca, next)
	b = update(b, cb, next)
	node = update(node, settingsOf, next)
	a = update(a, ca, this)
	b = update(b, cb, this)
	node = update(node, settingsOf, this)
	stop()
	if err := load.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d jobs during six updates", finished.Load())

	other := serving(t, behind(t, p, ca, "judge-2"), distant)
	const want = "the node speaks version 2 of the node protocol, this front versions 1 to 1"
	testkit.WaitFor(t, patience, "a judge that says why it is refused", func() bool {
		err := other.Ready(other.ctx)
		return err != nil && strings.Contains(err.Error(), want)
	})
	for _, d := range []*instance{other, node, a, b} {
		d.drain()
	}
	if all := inspect(t, ca); int64(len(all)) != finished.Load() {
		t.Errorf("%d jobs in the database, want %d", len(all), finished.Load())
	}
}

// insist repeats a request while the daemon behind a load balancer cannot be reached or is shutting down.
func insist(ask func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := ask()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		lost, problem := (*client.Unreachable)(nil), (*client.Problem)(nil)
		if !errors.As(err, &lost) && (!errors.As(err, &problem) || problem.Status != http.StatusServiceUnavailable) {
			return err
		}
	}
}

// TestFleetStart starts two fronts and ten judges at the same time with an empty database.
func TestFleetStart(t *testing.T) {
	t.Parallel() // measures nothing
	const judges = 10
	ca, cb := twoFronts(t, "file://"+t.TempDir())
	p := testkit.StartProxy(t, ca.HTTP.Listen, cb.HTTP.Listen)
	started := []*process{launch(t, ca), launch(t, cb)}
	for n := range judges {
		started = append(started, launch(t, behind(t, p, ca, fmt.Sprint("judge-", n))))
	}
	var fleet []*instance
	for _, s := range started {
		fleet = append(fleet, s.serving())
	}
	for _, front := range fleet[:2] {
		testkit.WaitFor(t, patience, "all judges to be up and ready", func() bool {
			up := 0
			for _, state := range front.nodes() {
				if state == [3]bool{true, false, true} {
					up++
				}
			}
			return up == judges
		})
	}
	for n := range judges {
		fleet[n%2].submit(fmt.Sprint("job-", n), echo(n))
	}
	for n := range judges {
		if r := fleet[(n+1)%2].finish(fmt.Sprint("job-", n)); r.Verdict != api.Accepted {
			t.Errorf("job %d: %+v", n, r)
		}
	}
	for _, d := range fleet {
		d.signal(15)
	}
	for _, d := range fleet {
		if code := d.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// authority creates a CA. It returns the CA's certificate, and the files of it and of a certificate for 127.0.0.1 that
// the CA has signed.
func authority(t *testing.T) (pool *x509.CertPool, caFile, certFile, keyFile string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	save := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		return path
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	caData, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	must(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "front"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	leafData, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	must(err)
	keyData, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(caData)
	must(err)
	pool.AddCert(parsed)
	return pool, save("ca.pem", "CERTIFICATE", caData), save("cert.pem", "CERTIFICATE", leafData),
		save("key.pem", "PRIVATE KEY", keyData)
}

// TestFleetTLS checks a front with a certificate of its operator's CA: a judge that trusts the CA judges, and one that
// trusts another CA reports the error.
func TestFleetTLS(t *testing.T) {
	t.Parallel() // measures nothing
	pool, caFile, certFile, keyFile := authority(t)
	_, otherFile, _, _ := authority(t)
	c := frontSettings(t)
	c.HTTP.CertFile, c.HTTP.KeyFile = certFile, keyFile
	front := serving(t, c)
	if !strings.HasPrefix(front.Base, "https://") {
		t.Fatalf("address %q", front.Base)
	}
	front.HTTP = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	t.Cleanup(front.HTTP.CloseIdleConnections)
	front.submit("1", front.sum(1, false))

	judge := func(name, ca string) *instance {
		n := nodeSettings(t, c, name)
		n.Fleet.Front, n.Fleet.CAFile = front.Base, ca
		return serving(t, n)
	}
	for name, ca := range map[string]string{"other-ca": otherFile, "no-ca": ""} {
		wrong := judge(name, ca)
		testkit.WaitFor(t, patience, "the judge to say what is wrong", func() bool {
			err := wrong.Ready(wrong.ctx)
			return err != nil && strings.Contains(err.Error(), "certificate signed by unknown authority") &&
				strings.Contains(err.Error(), "fleet.ca_file")
		})
		wrong.drain()
	}
	if nodes := front.nodes(); len(nodes) != 0 {
		t.Errorf("judges that do not trust the front have registered: %v", nodes)
	}
	right := judge("right", caFile)
	if r := front.finish("1"); r.Verdict != api.Accepted || r.Attempt != 1 {
		t.Errorf("report: %+v", r)
	}
	plain := newClient(t, "http://"+c.HTTP.Listen)
	if _, err := plain.Job(front.ctx, "1", 0); err == nil {
		t.Error("the front answers without TLS")
	}
	right.drain()
	front.drain()
}
