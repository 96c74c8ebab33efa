package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// fill reads the last message of every subject, headers only, into the index.
// On a cluster the same consumer then follows the stream, for the jobs of the
// other daemons, until life ends; embedded, there are none.
func (s *Store) fill(ctx, life context.Context) error {
	follow := !s.broker.Embedded()
	if s.opened == 0 && !follow {
		return nil
	}
	c, err := s.records.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubjects: []string{"records.*"}, HeadersOnly: true,
	})
	if err != nil {
		return err
	}
	info, err := c.Info(ctx)
	if err != nil {
		return err
	}
	messages, err := c.Messages(jetstream.PullMaxMessages(1000))
	if err != nil {
		return err
	}
	if err := s.take(ctx, messages, info.NumPending); err != nil || !follow {
		messages.Stop()
		return errors.Join(err, s.js.DeleteConsumer(ctx, recordStream, info.Name))
	}
	s.tasks.Go(func() {
		<-life.Done()
		messages.Stop()
	})
	s.tasks.Go(func() { s.follow(messages) })
	return nil
}

// take reads n messages into the index.
func (s *Store) take(ctx context.Context, messages jetstream.MessagesContext, n uint64) error {
	for ; n > 0; n-- {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		if err := s.see(m); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) follow(messages jetstream.MessagesContext) {
	for {
		m, err := messages.Next()
		switch {
		case errors.Is(err, jetstream.ErrMsgIteratorClosed), errors.Is(err, jetstream.ErrConnectionClosed):
			return
		case err != nil:
			s.opts.Log.Warn("follow job records", "error", err)
			continue
		}
		if err := s.see(m); err != nil {
			s.opts.Log.Error("follow job records", "error", err)
		}
	}
}

func (s *Store) see(m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	h, err := decodeHead(m.Headers())
	if err != nil {
		return fmt.Errorf("decode record %q: %w", idOf(m.Subject()), err)
	}
	s.index.apply(entryOf(idOf(m.Subject()), h, []byte(m.Headers().Get(headHeader)), meta.Sequence.Stream))
	return nil
}
