package jobs

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"judged/internal/base/text"
	"judged/internal/base/units"
)

// Packed is a submission in the encoding of the database, which takes a fraction of the memory of the job.
type Packed struct {
	ID, BodyDigest string

	tenant   string
	labels   map[string]string // see listedLabels
	encoded  string            // the stored labels as JSON
	priority int
	class    slotClass
	body     []byte
	receiver string // ID of the callback's receiver; "" without a callback
}

// Pack encodes a submission of a caller for PutAll.
func (s *Store) Pack(ctx context.Context, n Submission) (Packed, error) {
	n.Tenant = TenantOf(ctx)
	return pack(n)
}

func pack(n Submission) (p Packed, err error) {
	p = Packed{ID: n.ID, BodyDigest: n.BodyDigest, tenant: n.Tenant, class: n.slotClass(),
		priority: priorityNumber(n.Job.Priority), labels: listedLabels(n), receiver: receiverOf(n)}
	if p.priority < 0 {
		return p, fmt.Errorf("encode job %q: unknown priority %q", n.ID, n.Job.Priority)
	}
	stored := storedLabels(n.Job.Labels, n.Tenant)
	if p.body, err = packJSON(n.Job); err == nil && len(stored) > 0 {
		var encoded []byte
		encoded, err = json.Marshal(stored)
		p.encoded = string(encoded)
	}
	if err != nil {
		return p, fmt.Errorf("encode job %q: %w", n.ID, err)
	}
	return p, nil
}

// Size returns the size of the encoded job.
func (p Packed) Size() units.Bytes { return units.Bytes(len(p.body)) }

// flow returns the queue of the job.
func (p Packed) flow() flow { return flow{lane{p.class.pool, p.priority}, p.tenant} }

// args returns the arguments of insertJob.
func (p Packed) args(created, turn int64) []any {
	return []any{p.ID, p.BodyDigest, p.priority, p.class.pool, p.class.width, created, p.encoded, p.body, p.tenant, turn,
		p.receiver}
}

// Stored is the result of PutAll for one submission, the same as that of Put.
type Stored struct {
	Created bool
	Err     error // ErrConflict or ErrFull
}

// PutAll stores queued jobs in one transaction. If it returns no error, all jobs that it accepted are durable;
// otherwise none is stored.
func (s *Store) PutAll(ctx context.Context, list []Packed) ([]Stored, error) {
	return s.putAll(ctx, list, false)
}

// PutWhole is like PutAll, but stores no job and returns ErrFull if the queue has no room for all of them.
func (s *Store) PutWhole(ctx context.Context, list []Packed) ([]Stored, error) {
	return s.putAll(ctx, list, true)
}

func (s *Store) putAll(ctx context.Context, list []Packed, whole bool) ([]Stored, error) {
	for _, p := range list {
		if !ValidStoredID(p.ID) {
			return nil, fmt.Errorf("store job %q: %w", p.ID, ErrBadID)
		}
	}
	reserved, created := 0, 0
	var refused error
	defer func() {
		for i := range reserved {
			s.capacity.release(list[i].tenant, i < created)
		}
	}()
	for ; reserved < len(list); reserved++ {
		var err error
		if refused, err = s.place(ctx, list[reserved].tenant); err != nil {
			return nil, err
		}
		if refused != nil {
			break
		}
	}
	if whole && refused != nil {
		return nil, fmt.Errorf("store %d jobs: %w", len(list), refused)
	}
	all := putting{list: list, turns: make([]int64, len(list)), places: reserved, refused: refused,
		created: s.now().UnixNano(), sql: s.driver.sql}
	for i := range all.turns {
		all.turns[i] = s.turns.assign(list[i].flow())
	}
	err := s.tx(ctx, "put jobs", all.store)
	for i, turn := range all.turns { // before takers are notified
		s.settle(list[i].flow(), turn, err == nil && all.outcomes[i].Created)
	}
	if err != nil {
		return nil, err
	}
	woken := map[slotClass]bool{}
	for i, o := range all.outcomes {
		if !o.Created {
			continue
		}
		created++
		if k := list[i].class; !woken[k] {
			woken[k] = true
			s.notifyWork(k)
		}
	}
	return all.outcomes, nil
}

// rowsAtOnce is the number of rows of one statement. It bounds the round trips and the number of different statements.
const rowsAtOnce = 32

// putting is the transaction of PutAll.
type putting struct {
	list    []Packed
	turns   []int64
	places  int // remaining places in the queue
	refused error
	created int64
	sql     func(string) string

	outcomes []Stored
}

func (p *putting) store(ctx context.Context, tx *sql.Tx) error {
	p.outcomes = make([]Stored, len(p.list))
	for from := 0; from < len(p.list) && p.places > 0; {
		to := from + min(rowsAtOnce, p.places, len(p.list)-from)
		if err := p.insert(ctx, tx, from, to); err != nil {
			return err
		}
		from = to
	}
	var rest []int
	for i, o := range p.outcomes {
		if !o.Created {
			rest = append(rest, i)
		}
	}
	for len(rest) > 0 {
		n := min(rowsAtOnce, len(rest))
		if err := p.compare(ctx, tx, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// insert stores the jobs from..to-1 that have new IDs, with their labels.
func (p *putting) insert(ctx context.Context, tx *sql.Tx, from, to int) error {
	first := map[string]int{} // an ID may occur twice in the list
	var args, labels []any
	for i := from; i < to; i++ {
		args = append(args, p.list[i].args(p.created, p.turns[i])...)
		if _, twice := first[p.list[i].ID]; !twice {
			first[p.list[i].ID] = i
		}
	}
	text := insertInto + repeatRow(insertRow, to-from) + insertOnce + ", id"
	err := p.rows(ctx, tx, text, args, func(rows *sql.Rows) error {
		var seq int64
		var id string
		if err := rows.Scan(&seq, &id); err != nil {
			return err
		}
		i := first[id]
		p.outcomes[i].Created = true
		p.places--
		for key, value := range p.list[i].labels {
			labels = append(labels, p.created, seq, labelHash(key, value))
		}
		return nil
	})
	const columns = 3
	for err == nil && len(labels) > 0 {
		n := min(rowsAtOnce*columns, len(labels))
		_, err = tx.ExecContext(ctx, p.sql(insertLabelsInto+repeatRow("(?1, ?2, ?3)", n/columns)), labels[:n]...)
		labels = labels[n:]
	}
	return err
}

// compare sets the results of jobs that were not inserted.
func (p *putting) compare(ctx context.Context, tx *sql.Tx, list []int) error {
	var ids []any
	for _, i := range list {
		ids = append(ids, p.list[i].ID)
	}
	type known struct {
		digest string
		hidden bool // belongs to another tenant
	}
	stored := map[string]known{}
	text := `SELECT id, digest, tenant FROM jobs WHERE id IN (` + repeatRow("?1", len(ids)) + `)`
	err := p.rows(ctx, tx, text, ids, func(rows *sql.Rows) error {
		var id, digest, tenant string
		err := rows.Scan(&id, &digest, &tenant)
		stored[id] = known{digest, hidden(ctx, tenant)}
		return err
	})
	for _, i := range list {
		switch k, found := stored[p.list[i].ID]; {
		case !found:
			p.outcomes[i].Err = fmt.Errorf("store job %q: %w", p.list[i].ID, cmp.Or(p.refused, ErrFull))
		case k.hidden || k.digest != p.list[i].BodyDigest:
			p.outcomes[i].Err = fmt.Errorf("store job %q: %w", p.list[i].ID, ErrConflict)
		}
	}
	return err
}

func (p *putting) rows(ctx context.Context, tx *sql.Tx, text string, args []any, scan func(*sql.Rows) error) error {
	found, err := tx.QueryContext(ctx, p.sql(text), args...)
	if err != nil {
		return err
	}
	return each(found, scan)
}

// argument matches a placeholder of a statement.
var argument = text.Pattern(`\?[0-9]+`)

// repeatRow returns n copies of row, each with its own placeholders.
func repeatRow(row string, n int) string {
	k := len(argument().FindAllString(row, -1))
	rows := make([]string, n)
	for i := range rows {
		rows[i] = argument().ReplaceAllStringFunc(row, func(arg string) string {
			number, _ := strconv.Atoi(arg[1:])
			return "?" + strconv.Itoa(number+i*k)
		})
	}
	return strings.Join(rows, ", ")
}
