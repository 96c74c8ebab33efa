package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/service/httpapi"
)

// rejudgingPage is the matrix of a rejudging: old verdicts by new ones, and the jobs behind one cell.
type rejudgingPage struct {
	api.Rejudging
	News     []api.Verdict // columns; "" is not judged yet
	Rows     []matrixRow
	Old, New api.Verdict // chosen cell
	Chosen   bool
	Pairs    []pair
	More     bool // the cell has more jobs
	CanEnd   bool // the reader may apply and cancel
}

type matrixRow struct {
	Old   api.Verdict
	Cells []cell
}

// cell is the number of jobs with an old and a new verdict.
type cell struct {
	Jobs    int
	Same    bool
	Address string
}

// pair is a job with its old and new time side by side.
type pair struct {
	api.RejudgedReport
	OldTime, NewTime *time.Duration
}

// pairsShown limits the jobs of a cell.
const pairsShown = 200

func (h *handler) rejudgings(w http.ResponseWriter, r *http.Request) error {
	list, next, err := h.desk.Jobs().Rejudgings(r.Context(), r.URL.Query().Get("after"), 50)
	if err != nil {
		return err
	}
	return h.show(w, r, http.StatusOK, page{Title: "Rejudgings", template: "rejudgings.html", Body: struct {
		Rejudgings []api.Rejudging
		Next       string
	}{list, next}})
}

func (h *handler) rejudging(w http.ResponseWriter, r *http.Request) error {
	ctx, values := r.Context(), r.URL.Query()
	view, err := h.desk.Jobs().Rejudging(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	p := rejudgingPage{Rejudging: view, Chosen: values.Has("old"), Old: api.Verdict(values.Get("old")),
		New: api.Verdict(values.Get("new")), CanEnd: h.desk.Has(ctx, httpapi.Admin)}
	p.fillMatrix()
	if p.Chosen {
		if err := h.addPairs(ctx, &p); err != nil {
			return err
		}
	}
	return h.show(w, r, http.StatusOK, page{Title: "Rejudging " + short(view.ID), template: "rejudging.html", Live: true,
		Body: p})
}

func (p *rejudgingPage) fillMatrix() {
	count := map[[2]api.Verdict]int{}
	var olds []api.Verdict
	for _, c := range p.Verdicts {
		count[[2]api.Verdict{c.Old, c.New}] += c.Jobs
		if !slices.Contains(olds, c.Old) {
			olds = append(olds, c.Old)
		}
		if !slices.Contains(p.News, c.New) {
			p.News = append(p.News, c.New)
		}
	}
	slices.SortFunc(olds, byRank)
	slices.SortFunc(p.News, byRank)
	for _, old := range olds {
		row := matrixRow{Old: old}
		for _, next := range p.News {
			row.Cells = append(row.Cells, cell{count[[2]api.Verdict{old, next}], old == next,
				"?" + url.Values{"old": {string(old)}, "new": {string(next)}}.Encode()})
		}
		p.Rows = append(p.Rows, row)
	}
}

// byRank orders verdicts as documents list them, unknown ones first.
func byRank(a, b api.Verdict) int {
	rank := func(v api.Verdict) int {
		return slices.IndexFunc(api.Verdicts(), func(m api.Meaning) bool { return m.Word == string(v) })
	}
	return rank(a) - rank(b)
}

// addPairs adds the jobs of the chosen cell.
func (h *handler) addPairs(ctx context.Context, p *rejudgingPage) error {
	for after, first := "", true; first || after != ""; first = false {
		list, next, err := h.desk.Jobs().RejudgedPage(ctx, p.ID, p.Old != p.New && p.New != "", after, 500)
		if err != nil {
			return err
		}
		for _, x := range list {
			if x.Old != p.Old || x.New != p.New || x.Skipped != "" {
				continue
			}
			if p.More = len(p.Pairs) == pairsShown; p.More {
				return nil
			}
			p.Pairs = append(p.Pairs, h.pairOf(ctx, x))
		}
		after = next
	}
	return nil
}

// pairOf reads the times. Once it is applied, the original has the new report, and the other job the old one.
func (h *handler) pairOf(ctx context.Context, x api.RejudgedReport) pair {
	at := func(id string) *time.Duration {
		record, err := h.desk.Jobs().GetShort(ctx, id)
		if err != nil {
			return nil // it has been deleted, or is not queued yet
		}
		return record.Report.CPUTime
	}
	p := pair{RejudgedReport: x, OldTime: at(x.Job), NewTime: at(x.Again)}
	if x.Applied {
		p.OldTime, p.NewTime = p.NewTime, p.OldTime
	}
	return p
}

// endRejudging returns a handler that applies or cancels a rejudging.
func (h *handler) endRejudging(done string, end func(httpapi.Jobs, context.Context, string) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		id := r.PathValue("id")
		if err := end(h.desk.Jobs(), r.Context(), id); err != nil {
			return err
		}
		h.desk.Log(r, done+" a rejudging", "rejudging", id)
		http.Redirect(w, r, "/rejudgings/"+url.PathEscape(id), http.StatusSeeOther)
		return nil
	}
}
