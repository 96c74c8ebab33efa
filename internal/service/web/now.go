package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/jobs"
	"judged/internal/service/httpapi"
)

// nowPage holds the data of the page Now. Members about hosts are empty for a tenant, since they concern all tenants.
type nowPage struct {
	Safety   safety
	Operator bool
	Doctor   *doctorLine
	Host     *hostView
	Slots    []slotView
	Nodes    []api.Node
	Pools    []api.Pool
	Queue    []queueRow
	Waiting  int
	Hour     hour
	Latest   []jobRow
}

// queueRow is the number of waiting jobs of one priority, and when the oldest was submitted.
type queueRow struct {
	Priority api.Priority
	Jobs     int
	Oldest   time.Time
}

// slotView is a slot with its job.
type slotView struct {
	api.SlotStatus
	Job     string
	Started time.Time // when the job was started
}

// doctorLine summarizes the report of doctor.
type doctorLine struct {
	Checks, Failed, Warned, Unknown int
}

// latestJobs is the number of jobs on the page.
const latestJobs = 12

func (h *handler) now(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	p := nowPage{Operator: operator(ctx)}
	var err error
	if p.Latest, _, err = h.rows(ctx, jobs.Filter{Limit: latestJobs, Originals: true}); err != nil {
		return err
	}
	depths, oldest, err := h.desk.Jobs().Waiting(ctx)
	if err != nil {
		return err
	}
	p.Waiting = depths.Total()
	for _, priority := range api.Priorities() {
		row := queueRow{Priority: priority, Oldest: oldest[priority]}
		for _, depth := range depths {
			row.Jobs += depth[priority]
		}
		p.Queue = append(p.Queue, row)
	}
	if p.Hour, err = h.recent.get(ctx, h.desk); err != nil {
		return err
	}
	if p.Operator {
		if err := h.addHosts(ctx, &p, depths); err != nil {
			return err
		}
	}
	p.Safety = judgeSafety(h.known(p))
	return h.show(w, r, http.StatusOK, page{Title: "Now", template: "now.html", Live: true, Body: p})
}

// known collects what decides whether verdicts are safe.
func (h *handler) known(p nowPage) known {
	k := known{Ready: h.desk.Ready(), Operator: p.Operator, Slots: p.Slots, Nodes: p.Nodes}
	if p.Operator && h.o.Doctor != nil {
		k.Doctor = new(h.o.Doctor())
	}
	return k
}

// addHosts adds slots, nodes and pools.
func (h *handler) addHosts(ctx context.Context, p *nowPage, depths jobs.Depths) (err error) {
	if slots := h.desk.Slots(); slots != nil {
		if p.Slots, err = h.slotViews(ctx, slots.Snapshot()); err != nil {
			return err
		}
	}
	if h.o.Topology != nil {
		p.Host = new(viewHost(h.o.Topology(), p.Slots))
	}
	if h.o.Doctor != nil {
		p.Doctor = new(summarize(h.o.Doctor()))
	}
	nodes := h.desk.Nodes()
	if nodes == nil {
		return nil
	}
	if p.Nodes, err = nodes.Nodes(ctx); err != nil {
		return err
	}
	p.Pools, err = nodes.Pools(ctx, depths)
	return err
}

// slotViews adds the running jobs of this host to its slots.
func (h *handler) slotViews(ctx context.Context, all []api.SlotStatus) ([]slotView, error) {
	views := make([]slotView, len(all))
	busy := 0
	for i, s := range all {
		views[i] = slotView{SlotStatus: s}
		if s.State == "busy" || s.State == "draining" {
			busy++
		}
	}
	if busy == 0 {
		return views, nil
	}
	running, _, err := h.desk.Jobs().List(ctx, jobs.Filter{State: api.Running, Audits: true, Limit: 500})
	if err != nil {
		return nil, err
	}
	for _, r := range running {
		record, err := h.desk.Jobs().GetShort(ctx, r.ID)
		if err != nil {
			continue // it has been deleted meanwhile
		}
		for i := range views {
			if record.Host == h.o.Owner && record.CPUs == views[i].CPUs {
				views[i].Job, views[i].Started = r.ID, r.StartedAt
			}
		}
	}
	return views, nil
}

func summarize(r api.DoctorReport) doctorLine {
	line := doctorLine{Checks: len(r.Checks)}
	for _, c := range r.Checks {
		switch c.Status {
		case api.DoctorFail:
			line.Failed++
		case api.DoctorWarn:
			line.Warned++
		case api.DoctorUnknown:
			line.Unknown++
		}
	}
	return line
}

// parseCPUs returns the CPUs of a kernel list, or an empty set.
func parseCPUs(list string) cpuset.Set {
	set, err := cpuset.Parse(list)
	if err != nil {
		return cpuset.Set{}
	}
	return set
}

// doctor shows the checks of this host and of the fronts, those that fail first.
func (h *handler) doctor(w http.ResponseWriter, r *http.Request) error {
	switch {
	case !operator(r.Context()):
		return concernsAll()
	case h.o.Checks == nil:
		return &httpapi.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "no program runs on this host",
			NextStep: "run judged doctor on a judge node"}
	}
	report, err := h.o.Checks(r.Context())
	if err != nil {
		return err
	}
	order := []api.DoctorStatus{api.DoctorFail, api.DoctorUnknown, api.DoctorWarn, api.DoctorSkip, api.DoctorPass}
	report.Checks = slices.Clone(report.Checks)
	slices.SortStableFunc(report.Checks, func(a, b api.DoctorCheck) int {
		return cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status))
	})
	return h.show(w, r, http.StatusOK, page{Title: "Doctor", template: "doctor.html", Live: true, Body: report})
}

// operator reports whether the reader may see what concerns all tenants.
func operator(ctx context.Context) bool { return jobs.TenantOf(ctx) == "" }

func concernsAll() error {
	return &httpapi.Problem{Status: http.StatusForbidden, Title: "Not allowed", Detail: "this concerns all tenants",
		NextStep: "ask the operator for a token without a tenant"}
}
