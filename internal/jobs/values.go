package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// valueAge is how long a value is kept after it was set. By then, its host or program no longer exists.
const valueAge = 90 * 24 * time.Hour

// OperatorValues is the first part of the names of values that operators set. These values are kept until they are
// replaced.
const OperatorValues = "operator"

// Value decodes the value of a name into v, and reports whether it exists. The parts of a name may contain any bytes.
func (s *Store) Value(ctx context.Context, v any, name ...string) (found bool, err error) {
	data, err := s.packedValue(ctx, v, name...)
	return data != nil, err
}

// packedValue decodes the value of a name into v, and returns its stored form, or nil if it does not exist.
func (s *Store) packedValue(ctx context.Context, v any, name ...string) (data []byte, err error) {
	err = s.rows(ctx, s.read, query{"read value", `SELECT value FROM key_value WHERE name = ?1`, []any{valueName(name)}},
		func(rows *sql.Rows) error {
			if err := rows.Scan(&data); err != nil {
				return err
			}
			if err := unpackJSON(data, v); err != nil {
				return fmt.Errorf("decode value %q: %w", name, err)
			}
			return nil
		})
	return data, err
}

// SetValue stores v as JSON under a name. When it returns, the value is durable. The last writer wins, because each
// name is written by one process.
func (s *Store) SetValue(ctx context.Context, v any, name ...string) error {
	_, err := s.writeValue(ctx, setValue, v, name)
	return err
}

const setValue = `INSERT INTO key_value (name, value, stored) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, stored = excluded.stored`

// swapValue stores v under a name if the stored value is still old, which packedValue returned. swapped is false if
// another writer was first.
func (s *Store) swapValue(ctx context.Context, old []byte, v any, name ...string) (swapped bool, err error) {
	if old == nil {
		return s.writeValue(ctx, `INSERT INTO key_value (name, value, stored) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO NOTHING`, v, name)
	}
	return s.writeValue(ctx, `UPDATE key_value SET value = ?2, stored = ?3 WHERE name = ?1 AND value = ?4`, v, name, old)
}

// deleteValue deletes the value of a name if the stored value is still old, which packedValue returned.
func (s *Store) deleteValue(ctx context.Context, old []byte, name ...string) (deleted bool, err error) {
	n, err := s.exec(ctx, "set value", `DELETE FROM key_value WHERE name = ?1 AND value = ?2`, valueName(name), old)
	return n == 1, err
}

// writeValue runs a statement with a name, v as JSON, the time, and more arguments. It reports whether it changed a
// row.
func (s *Store) writeValue(ctx context.Context, text string, v any, name []string, more ...any) (bool, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return false, fmt.Errorf("encode value %q: %w", name, err)
	}
	n, err := s.exec(ctx, "set value", text, append([]any{valueName(name), append([]byte{packedPlain}, data...),
		s.now().UnixNano()}, more...)...)
	return n == 1, err
}

// Values calls f for each name that consists of prefix and one more part, with that part and the value as JSON.
func (s *Store) Values(ctx context.Context, f func(name string, value []byte) error, prefix ...string) error {
	start, end := valueRange(prefix...)
	return s.rows(ctx, s.read, query{"read values", `SELECT name, value FROM key_value
WHERE name {bytes} >= ?1 AND name {bytes} < ?2 ORDER BY name {bytes}`, []any{start, end}},
		func(rows *sql.Rows) error {
			var name string
			var data []byte
			if err := rows.Scan(&name, &data); err != nil {
				return err
			}
			last, err := strconv.Unquote(strings.TrimPrefix(name, start))
			if err != nil {
				return nil // the name has more parts
			}
			value, err := unpack(data)
			if err != nil {
				return fmt.Errorf("decode value %q: %w", name, err)
			}
			return f(last, value)
		})
}

// ValuesTx reads and sets values in one transaction.
type ValuesTx interface {
	// Read calls f for each of names that has a value, with its index in names and the value as JSON.
	Read(ctx context.Context, f func(i int, value []byte) error, names ...[]string) error
	Set(ctx context.Context, v any, name ...string) error
}

// ChangeValues calls f in a transaction that ends when f returns. While it runs, no other process can run a call with
// the same lock.
func (s *Store) ChangeValues(ctx context.Context, lock string, f func(context.Context, ValuesTx) error) error {
	return s.tx(ctx, "set value", func(ctx context.Context, tx *sql.Tx) error {
		if s.driver.lockName != "" {
			if _, err := tx.ExecContext(ctx, s.driver.lockName, lock); err != nil {
				return err
			}
		}
		return f(ctx, valuesTx{s, tx})
	})
}

type valuesTx struct {
	s  *Store
	tx *sql.Tx
}

func (t valuesTx) Read(ctx context.Context, f func(i int, value []byte) error, names ...[]string) error {
	if len(names) == 0 {
		return nil
	}
	index, args, marks := map[string]int{}, []any{}, []string{}
	for i, parts := range names {
		name := valueName(parts)
		index[name] = i
		args, marks = append(args, name), append(marks, fmt.Sprintf("?%d", i+1))
	}
	found, err := t.tx.QueryContext(ctx, t.s.driver.sql(
		`SELECT name, value FROM key_value WHERE name IN (`+strings.Join(marks, ", ")+`)`), args...)
	if err != nil {
		return err
	}
	return each(found, func(rows *sql.Rows) error {
		var name string
		var data []byte
		if err := rows.Scan(&name, &data); err != nil {
			return err
		}
		value, err := unpack(data)
		if err != nil {
			return fmt.Errorf("decode value %q: %w", name, err)
		}
		return f(index[name], value)
	})
}

func (t valuesTx) Set(ctx context.Context, v any, name ...string) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode value %q: %w", name, err)
	}
	_, err = t.tx.ExecContext(ctx, t.s.driver.sql(setValue), valueName(name), append([]byte{packedPlain}, data...),
		t.s.now().UnixNano())
	return err
}

// valueName joins and quotes the parts. Different names cannot collide, and contain no byte that a text column of
// PostgreSQL rejects.
func valueName(parts []string) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		quoted[i] = strconv.QuoteToASCII(p)
	}
	return strings.Join(quoted, " ")
}

// valuePrefix returns the prefix of the stored names that start with these parts and have more.
func valuePrefix(parts ...string) string { return valueName(parts) + " " }

// valueRange returns the first such name in byte order, and the first string after all of them.
func valueRange(parts ...string) (start, end string) {
	start = valuePrefix(parts...)
	return start, start[:len(start)-1] + string(rune(start[len(start)-1]+1))
}
