package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"judged/internal/base/linux"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

func start(t testing.TB, o Options) *Broker {
	t.Helper()
	b, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func addStream(t testing.TB, b *Broker) {
	t.Helper()
	if _, err := b.JetStream().CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}}); err != nil {
		t.Fatal(err)
	}
}

func TestKeepsWhatIsStored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	b := start(t, Options{Dir: dir})
	addStream(t, b)
	if _, err := b.JetStream().Publish(t.Context(), "s.1", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	b = start(t, Options{Dir: dir})
	s, err := b.JetStream().Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetLastMsgForSubject(t.Context(), "s.1")
	if err != nil || string(m.Data) != "hello" {
		t.Errorf("message %+v, error %v", m, err)
	}
	if !b.Embedded() || b.Check(t.Context()) != nil {
		t.Errorf("embedded %v, check %v", b.Embedded(), b.Check(t.Context()))
	}
}

func TestOneProcess(t *testing.T) {
	dir := t.TempDir()
	b := start(t, Options{Dir: dir})
	// flock is of the open file, so a second open in this process counts.
	_, err := Start(t.Context(), Options{Dir: dir})
	want := fmt.Sprintf("another process uses this folder (pid %d): stop it or choose another --data-dir", os.Getpid())
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
	if err := b.Check(t.Context()); err != nil {
		t.Errorf("the first one after that: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, Options{Dir: dir})
}

func TestStartErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	blocked := t.TempDir()
	if err := os.WriteFile(filepath.Join(blocked, "jetstream"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		opts Options
		want []string
	}{
		{"folder is a file", Options{Dir: file}, []string{file, "choose another --data-dir"}},
		{"state is no folder", Options{Dir: blocked}, []string{blocked, "move it away"}},
		{"no cluster", Options{URL: "nats://user:secret@127.0.0.1:1"}, []string{"check broker.url"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Start(t.Context(), tt.opts)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("error shows the password: %v", err)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	b := start(t, Options{Dir: t.TempDir()})
	other := errors.New("other")
	tests := []struct {
		err  error
		want string
	}{
		{&jetstream.APIError{ErrorCode: codeNoStorage, Description: "insufficient storage"}, "free disk space there"},
		{&jetstream.APIError{ErrorCode: codeStoreFailed, Description: "no space left on device"}, b.opts.Dir},
		{nats.ErrMaxPayload, "raise max_payload"},
		{nats.ErrNoResponders, "does not answer"},
		{other, "other"},
	}
	for _, tt := range tests {
		got := b.Explain(tt.err)
		if !errors.Is(got, tt.err) || !strings.Contains(got.Error(), tt.want) {
			t.Errorf("%v explained as %v", tt.err, got)
		}
	}
	if b.Explain(nil) != nil {
		t.Error("nil has an explanation")
	}
	(&logger{log: b.opts.Log, broken: func(text string) { b.broken(errors.New(text)) }}).
		Errorf("stream critical write error: %v", "no space left on device")
	ctx, cancel := b.Writing(t.Context())
	defer cancel()
	if <-ctx.Done(); !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("a write ended with %v, not at once", ctx.Err())
	}
	if err := b.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "no space left on device): free disk space") {
		t.Errorf("check after a failed write: %v", err)
	}
	b.server.DisableJetStream()
	if err := b.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "then restart judged") {
		t.Errorf("check without JetStream: %v", err)
	}
}

// TestCheckRemembers: an answer that all is well is believed for a while, and no
// other.
func TestCheckRemembers(t *testing.T) {
	b, err := Start(t.Context(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Nobody who asks with this one gets an answer.
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Check(late); err != nil {
		t.Error(err)
	}
	b.well.Store(1) // long ago
	if err := b.Check(late); err == nil {
		t.Error("an old answer is believed")
	}
	b.well.Store(int64(linux.Monotonic()))
	b.server.DisableJetStream()
	if err := b.Check(t.Context()); err == nil {
		t.Error("all is well without JetStream")
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		b := start(t, Options{Dir: t.TempDir()})
		addStream(t, b)
		for i := range 10 {
			if _, err := b.JetStream().PublishMsgAsync(&nats.Msg{Subject: fmt.Sprint("s.", i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	testkit.WaitFor(t, 10*time.Second, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestCluster(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("server is not ready")
	}
	b := start(t, Options{URL: s.ClientURL()})
	addStream(t, b)
	if b.Embedded() || b.MaxPayload() != 1<<20 {
		t.Errorf("embedded %v, largest message %d", b.Embedded(), b.MaxPayload())
	}
	_, err = b.JetStream().Publish(t.Context(), "s.1", make([]byte, 1<<21))
	if err := b.Explain(err); err == nil || !strings.Contains(err.Error(), "at most 1048576 bytes") {
		t.Errorf("large message: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkStart starts on an empty folder, and tells the memory of an idle
// broker: heap in use and what the runtime has from the system.
func BenchmarkStart(b *testing.B) {
	var all []time.Duration
	for range b.N {
		dir := b.TempDir()
		begin := time.Now()
		br, err := Start(context.Background(), Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(begin))
		if err := br.Close(); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds()), "p50-ns")
	br := start(b, Options{Dir: b.TempDir()})
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapInuse), "heap-bytes")
	b.ReportMetric(float64(m.Sys), "sys-bytes")
	runtime.KeepAlive(br)
}
