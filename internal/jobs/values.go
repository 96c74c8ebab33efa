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

// valueAge is how long a value is kept that nobody sets: it is of a host or a
// program that is gone.
const valueAge = 90 * 24 * time.Hour

// Value reads into v the JSON that was last set under the name, and reports
// whether there is any. The parts of a name may hold any bytes.
func (s *Store) Value(ctx context.Context, v any, name ...string) (found bool, err error) {
	err = s.rows(ctx, s.read, query{"read value", `SELECT value FROM memory WHERE name = ?1`, []any{valueName(name)}}, func(rows *sql.Rows) error {
		found = true
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return err
		}
		if err := unpackJSON(data, v); err != nil {
			return fmt.Errorf("decode value %q: %w", name, err)
		}
		return nil
	})
	return found, err
}

// SetValue keeps v as JSON under the name, in place of what was there. When it
// returns the value is durable. The last writer wins: a name belongs to one
// process.
func (s *Store) SetValue(ctx context.Context, v any, name ...string) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode value %q: %w", name, err)
	}
	_, err = s.exec(ctx, "set value", `INSERT INTO memory (name, value, stored) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, stored = excluded.stored`,
		valueName(name), append([]byte{packedPlain}, data...), s.now().UnixNano())
	return err
}

// valueName joins the parts so that no two names meet; quoted they hold nothing
// that a text column of PostgreSQL refuses.
func valueName(parts []string) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		quoted[i] = strconv.QuoteToASCII(p)
	}
	return strings.Join(quoted, " ")
}
