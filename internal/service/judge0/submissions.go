package judge0

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/jobs/intake"
)

func idOf(token string) string { return jobs.NamedID(kind, token) }

func tokenOf(id string) string { return jobs.NameOf(kind, id) }

// record returns the job of a token. Tokens are UUIDs, so case does not matter.
func (h *handler) record(ctx context.Context, token string) (jobs.Record, error) {
	id, err := uuid.Parse(token)
	if err != nil || len(token) != len(uuid.Nil.String()) {
		return jobs.Record{}, fmt.Errorf("submission %.70q: %w", token, api.ErrNotFound)
	}
	return h.desk.Jobs().Get(ctx, idOf(id.String()))
}

func (h *handler) create(w http.ResponseWriter, r *http.Request) error {
	v, release, err := h.viewOf(r)
	if err != nil {
		return err
	}
	defer release()
	if err := h.desk.Room(r.Context()); err != nil {
		return err
	}
	known, err := h.catalogue(r.Context())
	if err != nil {
		return err
	}
	n, found, err := h.receive(w, r, known, v.encoded)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return &failure{status: http.StatusUnprocessableEntity, body: found}
	}
	if err := h.desk.Put(r.Context(), n); err != nil {
		return err
	}
	token := tokenOf(n.ID)
	if r.URL.Query().Get("wait") != "true" {
		h.answer(w, r, http.StatusCreated, map[string]string{"token": token})
		return nil
	}
	members, err := h.ended(r, known, token, v)
	if err != nil {
		f := h.failureOf(r, err)
		if errors.Is(err, errNotText) {
			f.status = http.StatusCreated
		}
		return f.with(token)
	}
	h.answer(w, r, http.StatusCreated, members)
	return nil
}

// ended waits until a submission has ended, and returns it in a view. If the wait ends early, the token is among its
// members, with which the caller can get the result.
func (h *handler) ended(r *http.Request, known catalogue, token string, v view) (map[string]any, error) {
	err := h.desk.Wait(r.Context(), idOf(token))
	if err != nil {
		return nil, err
	}
	rec, err := h.record(r.Context(), token)
	if err != nil {
		return nil, err
	}
	members, err := submission{Record: rec, view: v, known: known}.show()
	if err == nil && !rec.Report.State.Final() {
		members["token"] = token
	}
	return members, err
}

// receive reads a submission and prepares its job, or returns its faults. It releases its reserved memory when it returns.
func (h *handler) receive(w http.ResponseWriter, r *http.Request, known catalogue, encoded bool) (n jobs.Submission,
	found faults, err error) {
	values, release, err := h.members(w, r)
	if err != nil {
		return n, nil, err
	}
	defer release()
	if values["additional_files"] != nil {
		if err := h.unpacking.Acquire(r.Context(), 1); err != nil {
			return n, nil, err
		}
		defer h.unpacking.Release(1)
	}
	return h.prepare(r.Context(), h.desk, known, values, encoded)
}

// preparer prepares jobs; *httpapi.Desk and *httpapi.Batch implement it.
type preparer interface {
	Prepare(ctx context.Context, r intake.Request) (jobs.Submission, error)
}

// prepare returns the job of a submission, or its faults.
func (h *handler) prepare(ctx context.Context, to preparer, known catalogue, values map[string]json.RawMessage,
	encoded bool) (n jobs.Submission, found faults, err error) {
	f := form{values, faults{}}
	config := h.desk.Config()
	a, t := f.read(encoded, boundsOf(config))
	l, exists := find(a.Language)
	if exists && !known.has(l) {
		f.faults.add("language_id", "language with id %d is archived and cannot be used anymore", a.Language)
	}
	if len(f.faults) > 0 {
		return n, f.faults, nil
	}
	job := jobOf(config, l, a, t, f.faults)
	if len(f.faults) > 0 {
		return n, f.faults, nil
	}
	if n, err = to.Prepare(ctx, intake.Request{ID: idOf(uuid.NewString()), Job: job}); err != nil {
		return n, f.faults, refused(err, a, f.faults)
	}
	n, err = mark(n, a)
	return n, nil, err
}

// members reads the members of a JSON body or a form. They take reserved memory until release is called.
func (h *handler) members(w http.ResponseWriter, r *http.Request) (all map[string]json.RawMessage, release func(),
	err error) {
	form, err := isForm(r.Header)
	if err != nil {
		return nil, nil, err
	}
	body, release, err := h.desk.Body(w, r)
	if err != nil {
		return nil, nil, err
	}
	if form {
		all, err = formMembers(string(body))
	} else {
		all, err = jsonMembers(body)
	}
	if err != nil {
		release()
	}
	return all, release, err
}

func jsonMembers(body []byte) (members map[string]json.RawMessage, err error) {
	if !utf8.Valid(body) {
		return nil, failed(http.StatusBadRequest, "the body is not UTF-8")
	}
	if len(strings.TrimSpace(string(body))) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, failed(http.StatusBadRequest, "the body is not a JSON object: "+instead(err))
	}
	if at := intake.LoneSurrogate(body); at >= 0 {
		return nil, failed(http.StatusBadRequest, fmt.Sprintf("the body has half of a surrogate pair at byte %d, which is "+
			"no character; use base64_encoded=true", at))
	}
	return members, nil
}

// instead says what is in the place of an object, without the types of Go.
func instead(err error) string {
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "it has an element of type " + other.Value
	}
	return err.Error()
}

func formMembers(body string) (map[string]json.RawMessage, error) {
	values, err := url.ParseQuery(body)
	if err != nil {
		return nil, failed(http.StatusBadRequest, "the body is not a form: "+err.Error())
	}
	members := map[string]json.RawMessage{}
	for name, all := range values {
		text := all[len(all)-1] // as in Rails, and in JSON
		if !utf8.ValidString(text) {
			return nil, failed(http.StatusBadRequest, "the body is not UTF-8")
		}
		if members[name], err = json.Marshal(text); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// show returns a submission in a view.
func (h *handler) show(r *http.Request, known catalogue, token string, v view) (map[string]any, error) {
	rec, err := h.record(r.Context(), token)
	if err != nil {
		return nil, err
	}
	return submission{Record: rec, view: v, known: known}.show()
}

func (h *handler) get(w http.ResponseWriter, r *http.Request) error {
	v, release, err := h.viewOf(r)
	if err != nil {
		return err
	}
	defer release()
	known, err := h.catalogue(r.Context())
	if err != nil {
		return err
	}
	members, err := h.show(r, known, r.PathValue("token"), v)
	if err != nil {
		return err
	}
	h.answer(w, r, http.StatusOK, members)
	return nil
}

// remove responds like a Judge0 that does not allow deletion.
func (h *handler) remove(http.ResponseWriter, *http.Request) error {
	return failed(http.StatusBadRequest, "delete not allowed")
}

// checkBatch returns an error if the size of a batch is not allowed.
func checkBatch(n int) error {
	switch {
	case n == 0:
		return failed(http.StatusBadRequest, "there should be at least one submission in a batch")
	case n > maxBatch:
		return failed(http.StatusBadRequest,
			fmt.Sprintf("number of submissions in a batch should be less than or equal to %d", maxBatch))
	}
	return nil
}

func (h *handler) createBatch(w http.ResponseWriter, r *http.Request) error {
	if err := h.desk.Room(r.Context()); err != nil {
		return err
	}
	known, err := h.catalogue(r.Context())
	if err != nil {
		return err
	}
	status, answers, err := h.receiveBatch(w, r, known)
	if err != nil {
		return err
	}
	h.answer(w, r, status, answers)
	return nil
}

// receiveBatch reads a batch and stores its jobs. It releases its reserved memory when it returns.
func (h *handler) receiveBatch(w http.ResponseWriter, r *http.Request, known catalogue) (status int, answers []any,
	err error) {
	members, releaseBody, err := h.members(w, r)
	if err != nil {
		return 0, nil, err
	}
	defer releaseBody()
	all, err := batchOf(members)
	if err != nil {
		return 0, nil, err
	}
	batch, release, err := h.desk.NewBatch(r.Context())
	if err != nil {
		return 0, nil, err
	}
	defer release()
	answers, status = make([]any, len(all)), http.StatusUnprocessableEntity
	for i, values := range all {
		n, found, err := h.prepare(r.Context(), batch, known, values, encodedIn(r))
		if err == nil && len(found) == 0 {
			err = batch.Add(r.Context(), n)
		}
		switch {
		case err != nil:
			return 0, nil, err
		case len(found) > 0:
			answers[i] = found
		default:
			answers[i], status = map[string]string{"token": tokenOf(n.ID)}, http.StatusCreated
		}
	}
	return status, answers, batch.StoreWhole(r.Context())
}

// batchOf returns the members of each submission of a batch.
func batchOf(members map[string]json.RawMessage) (all []map[string]json.RawMessage, err error) {
	if raw, given := members["submissions"]; given {
		if err := json.Unmarshal(raw, &all); err != nil {
			return nil, failed(http.StatusBadRequest, "submissions is not an array of objects: "+instead(err))
		}
	}
	return all, checkBatch(len(all))
}

func (h *handler) getBatch(w http.ResponseWriter, r *http.Request) error {
	v, release, err := h.viewOf(r)
	if err != nil {
		return err
	}
	defer release()
	// An empty token has an answer, as an unknown one has: callers match the answers by their position.
	tokens := strings.Split(strings.TrimRight(r.URL.Query().Get("tokens"), ", "), ",")
	if tokens[0] == "" && len(tokens) == 1 {
		tokens = nil
	}
	if err := checkBatch(len(tokens)); err != nil {
		return err
	}
	known, err := h.catalogue(r.Context())
	if err != nil {
		return err
	}
	all := make([]map[string]any, len(tokens))
	for i, token := range tokens {
		all[i], err = h.show(r, known, strings.TrimSpace(token), v)
		if err != nil && !errors.Is(err, api.ErrNotFound) {
			return err
		}
	}
	h.answer(w, r, http.StatusOK, map[string]any{"submissions": all})
	return nil
}

// Limits of lists.
const (
	maxPage   = 100
	maxListed = 10_000 // only this many of the newest submissions are counted and listed
	stride    = 500
)

// list responds with a page of submissions, the newest first.
func (h *handler) list(w http.ResponseWriter, r *http.Request) error {
	v, release, err := h.viewOf(r)
	if err != nil {
		return err
	}
	defer release()
	page, err := pageNumber(r, "page", 1, 1, maxListed)
	if err != nil {
		return err
	}
	length, err := pageNumber(r, "per_page", defaultPage, 1, maxPage)
	if err != nil {
		return err
	}
	tokens, err := h.tokens(r.Context())
	if err != nil {
		return err
	}
	known, err := h.catalogue(r.Context())
	if err != nil {
		return err
	}
	first := min((page-1)*length, len(tokens))
	all := []map[string]any{}
	for _, token := range tokens[first:min(first+length, len(tokens))] {
		members, err := h.show(r, known, token, v)
		if errors.Is(err, api.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		all = append(all, members)
	}
	h.answer(w, r, http.StatusOK, map[string]any{"submissions": all, "meta": metaOf(page, length, len(tokens))})
	return nil
}

// tokens returns the tokens of the newest submissions.
func (h *handler) tokens(ctx context.Context) (tokens []string, err error) {
	filter := jobs.Filter{Label: map[string]string{jobs.OriginLabel: kind}, Limit: stride}
	for len(tokens) < maxListed {
		page, next, err := h.desk.Jobs().List(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, report := range page {
			if token := tokenOf(report.ID); token != report.ID { // excludes copies
				tokens = append(tokens, token)
			}
		}
		if next == "" {
			break
		}
		filter.After = next
	}
	return tokens, nil
}

func pageNumber(r *http.Request, parameter string, otherwise, low, high int) (int, error) {
	text := r.URL.Query().Get(parameter)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, failed(http.StatusBadRequest, fmt.Sprintf("invalid %s: %.70s", parameter, text))
	}
	return n, nil
}

// meta describes the page of a list.
type meta struct {
	Current int  `json:"current_page"`
	Next    *int `json:"next_page"`
	Prev    *int `json:"prev_page"`
	Pages   int  `json:"total_pages"`
	Count   int  `json:"total_count"`
}

func metaOf(page, length, count int) meta {
	m := meta{Current: page, Pages: max(1, (count+length-1)/length), Count: count}
	if page < m.Pages {
		m.Next = new(page + 1)
	}
	if page > 1 {
		m.Prev = new(page - 1)
	}
	return m
}
