package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	valueStream = "JUDGED_VALUES"
	// A value that nobody has set for so long is of a host or a program that is
	// gone.
	valueAge = 90 * 24 * time.Hour
)

func (s *Store) openValues(ctx context.Context) (err error) {
	s.values, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: valueStream, Description: "judged: what it has learned of its slots",
		Subjects: []string{"values.>"}, Storage: jetstream.FileStorage, Replicas: s.broker.Replicas(), AllowDirect: true,
		MaxMsgsPerSubject: 1, MaxAge: valueAge, Discard: jetstream.DiscardOld,
	})
	return err
}

// Value reads into v the JSON that was last set under the name, and reports
// whether there is any. The parts of a name may hold any bytes.
func (s *Store) Value(ctx context.Context, v any, name ...string) (bool, error) {
	m, err := s.values.GetLastMsgForSubject(ctx, valueSubject(name))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read value %q: %w", name, s.broker.Explain(err))
	}
	if err := json.Unmarshal(m.Data, v); err != nil {
		return false, fmt.Errorf("decode value %q: %w", name, err)
	}
	return true, nil
}

// SetValue keeps v as JSON under the name, in place of what was there. When it
// returns the value is on the disk. Last writer wins: a name belongs to one
// process.
func (s *Store) SetValue(ctx context.Context, v any, name ...string) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode value %q: %w", name, err)
	}
	ctx, cancel := s.broker.Writing(ctx)
	defer cancel()
	if _, err := s.js.Publish(ctx, valueSubject(name), data); err != nil {
		return fmt.Errorf("store value %q: %w", name, s.broker.Explain(err))
	}
	return nil
}

// valueSubject makes one token of every part, by what no token may hold.
func valueSubject(name []string) string {
	subject := "values"
	for _, part := range name {
		subject += "." + escape(part)
	}
	return subject
}

// escape writes every byte but letters, digits, "-" and "_" as "=" and two hex
// digits; an empty part is "=".
func escape(part string) string {
	if part == "" {
		return "="
	}
	var token []byte
	for i := range len(part) {
		if c := part[i]; alphanumeric(c) || c == '-' || c == '_' {
			token = append(token, c)
		} else {
			token = fmt.Appendf(token, "=%02x", c)
		}
	}
	return string(token)
}
