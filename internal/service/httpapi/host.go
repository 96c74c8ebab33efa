package httpapi

import (
	"errors"
	"net/http"
	"slices"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/text"
)

type slotList struct {
	Slots []api.SlotStatus `json:"slots"`
}

func (s *Server) getSlots(_ *http.Request) (any, error) {
	return slotList{Slots: s.slots.Snapshot()}, nil
}

// drainSlot takes a slot out of use. A running job ends first.
func (s *Server) drainSlot(r *http.Request) (any, error) {
	reason := r.URL.Query().Get("reason")
	if err := text.CheckLine(reason, 255); err != nil {
		return nil, problem("bad-request", "send another reason, or none", "parameter reason: %s", err)
	}
	if reason == "" {
		reason = "drained over HTTP"
		if name := caller(r.Context()); name != "" {
			reason += " by " + name
		}
	}
	return s.changeSlot(r, func(cpus cpuset.Set) error {
		err := s.slots.Drain(cpus, reason)
		if err == nil {
			s.log.Info("drained a slot", "cpus", cpus.String(), "reason", reason, by(r))
		}
		return err
	})
}

func (s *Server) undrainSlot(r *http.Request) (any, error) {
	return s.changeSlot(r, func(cpus cpuset.Set) error {
		err := s.slots.Undrain(cpus)
		if err == nil {
			s.log.Info("undrained a slot", "cpus", cpus.String(), by(r))
		}
		return err
	})
}

// changeSlot changes a slot and responds with the new state of all slots.
func (s *Server) changeSlot(r *http.Request, change func(cpuset.Set) error) (any, error) {
	cpus, err := cpuset.Parse(r.PathValue("cpus"))
	if err != nil {
		return nil, problem("bad-request", "see GET /v1/slots for the CPUs of each slot", "%.400s", err)
	}
	if err := change(cpus); err != nil {
		return nil, err
	}
	return s.getSlots(r)
}

// queueDepth is the number of waiting jobs in all pools by priority.
type queueDepth struct {
	Waiting map[api.Priority]int `json:"waiting"`
	Total   int                  `json:"total"`
	Most    int                  `json:"max_waiting"`
}

func (s *Server) getQueue(r *http.Request) (any, error) {
	depths, err := s.jobs.Depth(r.Context())
	if err != nil {
		return nil, err
	}
	q := queueDepth{Waiting: map[api.Priority]int{}, Total: depths.Total(), Most: s.config.Queue.MaxWaiting}
	for _, p := range api.Priorities() {
		q.Waiting[p] = 0
		for _, depth := range depths {
			q.Waiting[p] += depth[p]
		}
	}
	return q, nil
}

// getTenants responds with all tenants, or with that of the caller.
func (s *Server) getTenants(r *http.Request) (any, error) {
	list, err := s.jobs.Tenants(r.Context())
	return api.TenantList{Tenants: list}, err
}

type languageList struct {
	Languages []api.LanguageStatus `json:"languages"`
}

func (s *Server) getLanguages(r *http.Request) (any, error) {
	list, err := s.languages.ListLanguages(r.Context())
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(l api.LanguageStatus) bool { return l.ID == api.BuildLanguage })
	for i := range list {
		list[i].Factors = new(s.factors[list[i].ID].Or(api.Factors{Time: 1, Memory: 1}))
	}
	return languageList{Languages: list}, nil
}

func (s *Server) getDoctor(r *http.Request) (any, error) { return s.doctor(r.Context()) }

func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request) error {
	s.metrics.ServeHTTP(w, r)
	return nil
}

// health is the response of /healthz: a daemon that responds is alive.
type health struct {
	Alive bool `json:"alive"`
}

func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) error {
	return s.writeJSON(w, http.StatusOK, health{Alive: true})
}

type readiness struct {
	Ready bool `json:"ready"`
}

func (s *Server) getReady(w http.ResponseWriter, _ *http.Request) error {
	err := s.ready()
	if err == nil && s.refused != "" {
		err = errors.New(s.refused)
	}
	if err != nil {
		return problem("not-ready", "remove the reason; judged doctor explains what a host needs", "%s",
			err).retryAfter(retryNotReady)
	}
	return s.writeJSON(w, http.StatusOK, readiness{Ready: true})
}
