package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// maxPayload is the largest message. JetStream's file store takes a record
	// above 32 MiB for a corrupt one, so the limit lies below that, with room
	// for subject and headers.
	maxPayload = 31 << 20
	// maxMemory bounds streams kept in memory (running jobs' events); the
	// default would be three quarters of the machine's.
	maxMemory = 64 << 20
	// maxStore is more than any disk. The default is three quarters of what is
	// free at the start, however much there is later; the free space is looked
	// at by the daemon.
	maxStore = 1 << 50
	// startTimeout is for what is left when the files have been read: nothing.
	startTimeout = time.Second
)

// lockDir takes the folder for this process. The kernel drops the lock with
// the process, however it ends, so that a crash leaves nothing to clean up.
func (b *Broker) lockDir(context.Context) error {
	if err := os.MkdirAll(b.opts.Dir, 0o700); err != nil {
		return fmt.Errorf("create broker folder %q: %w: choose another --data-dir or give judged write access", b.opts.Dir, err)
	}
	f, err := os.OpenFile(b.lockFile(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open %q: %w: choose another --data-dir or give judged write access", b.lockFile(), err)
	}
	b.lock = f
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return fmt.Errorf("lock %q: another process uses this folder (pid %s): stop it or choose another --data-dir", b.lockFile(), holder(f))
	case err != nil:
		return fmt.Errorf("lock %q: %w: the file system must support flock; choose a local --data-dir", b.lockFile(), err)
	}
	return writeHolder(f)
}

// holder is the process id that the lock file names, for the error only: the
// lock itself is the truth.
func holder(f *os.File) string {
	buf := make([]byte, 20)
	n, _ := f.ReadAt(buf, 0)
	if n == 0 {
		return "unknown"
	}
	return string(buf[:n])
}

func writeHolder(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("write %q: %w", f.Name(), err)
	}
	if _, err := fmt.Fprintf(f, "%d", os.Getpid()); err != nil {
		return fmt.Errorf("write %q: %w: free disk space there", f.Name(), err)
	}
	return nil
}

func (b *Broker) startServer(ctx context.Context) error {
	s, err := server.NewServer(&server.Options{
		ServerName: "judged",
		DontListen: true,
		NoSigs:     true,
		JetStream:  true,
		StoreDir:   b.opts.Dir,
		// An acknowledged write has been fsynced: it survives kill -9 and power
		// loss. Costs 0.15 ms per write on an SSD.
		SyncAlways:         true,
		JetStreamMaxMemory: maxMemory,
		JetStreamMaxStore:  maxStore,
		MaxPayload:         maxPayload,
		MaxPending:         4 * maxPayload,
		MaxTracedMsgLen:    256,
	})
	if err != nil {
		return fmt.Errorf("set up embedded broker in %q: %w", b.opts.Dir, err)
	}
	b.server = s
	log := &logger{log: b.opts.Log, broken: func(text string) { b.broken(errors.New(text)) }}
	s.SetLoggerV2(log, false, false, false)
	started := make(chan struct{})
	go func() {
		defer close(started)
		s.Start()
	}()
	if err := waitReady(ctx, s, log, started); err != nil {
		return fmt.Errorf("start embedded broker in %q: %w: free disk space or repair the folder; if it is damaged, move it away (the jobs in it are lost then)", b.opts.Dir, err)
	}
	return nil
}

// waitReady waits until JetStream has read its files, which Start does before
// it returns. A server that cannot start JetStream returns early from Start
// and never becomes ready.
func waitReady(ctx context.Context, s *server.Server, log *logger, started <-chan struct{}) error {
	select {
	case <-started:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !s.JetStreamEnabled() {
		return errors.New(cmp.Or(log.lastFatal(), "JetStream did not start"))
	}
	if !s.ReadyForConnections(startTimeout) {
		return errors.New("server is not ready")
	}
	return nil
}
