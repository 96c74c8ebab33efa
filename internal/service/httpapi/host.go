package httpapi

import (
	"errors"
	"net/http"
	"slices"

	"judged/internal/api"
	"judged/internal/base/cpuset"
)

type slotList struct {
	Slots []api.SlotStatus `json:"slots"`
}

func (s *Server) getSlots(w http.ResponseWriter, _ *http.Request) error {
	return s.writeJSON(w, http.StatusOK, slotList{Slots: s.slots.Snapshot()})
}

// drainSlot takes a slot out of use. A running job ends first.
func (s *Server) drainSlot(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "reason")
	if err != nil {
		return err
	}
	reason := values.Get("reason")
	if len(reason) > 255 {
		return problem("bad-request", "send at most 255 bytes", "the reason has %d bytes", len(reason))
	}
	if reason == "" {
		reason = "drained over HTTP"
		if name := caller(r.Context()); name != "" {
			reason += " by " + name
		}
	}
	return s.changeSlot(w, r, func(cpus cpuset.Set) error {
		err := s.slots.Drain(cpus, reason)
		if err == nil {
			s.log.Info("drained a slot", "cpus", cpus.String(), "reason", reason, by(r))
		}
		return err
	})
}

func (s *Server) undrainSlot(w http.ResponseWriter, r *http.Request) error {
	return s.changeSlot(w, r, func(cpus cpuset.Set) error {
		err := s.slots.Undrain(cpus)
		if err == nil {
			s.log.Info("undrained a slot", "cpus", cpus.String(), by(r))
		}
		return err
	})
}

// changeSlot changes a slot and responds with the new state of all slots.
func (s *Server) changeSlot(w http.ResponseWriter, r *http.Request, change func(cpuset.Set) error) error {
	cpus, err := cpuset.Parse(r.PathValue("cpus"))
	if err != nil {
		return problem("bad-request", "see GET /v1/slots for the CPUs of each slot", "%s", err)
	}
	if err := change(cpus); err != nil {
		return err
	}
	return s.getSlots(w, r)
}

// queueDepth is the number of waiting jobs in all pools by priority.
type queueDepth struct {
	Waiting map[api.Priority]int `json:"waiting"`
	Total   int                  `json:"total"`
	Most    int                  `json:"max_waiting"`
}

func (s *Server) getQueue(w http.ResponseWriter, r *http.Request) error {
	depths, err := s.jobs.Depth(r.Context())
	if err != nil {
		return err
	}
	q := queueDepth{Waiting: map[api.Priority]int{}, Total: depths.Total(), Most: s.config.Queue.MaxWaiting}
	for _, p := range api.Priorities() {
		q.Waiting[p] = 0
		for _, depth := range depths {
			q.Waiting[p] += depth[p]
		}
	}
	return s.writeJSON(w, http.StatusOK, q)
}

// getTenants responds with all tenants, or with that of the caller.
func (s *Server) getTenants(w http.ResponseWriter, r *http.Request) error {
	list, err := s.jobs.Tenants(r.Context())
	if err != nil {
		return err
	}
	return s.writeJSON(w, http.StatusOK, api.TenantList{Tenants: list})
}

type languageList struct {
	Languages []api.LanguageStatus `json:"languages"`
}

func (s *Server) getLanguages(w http.ResponseWriter, r *http.Request) error {
	list, err := s.languages.ListLanguages(r.Context())
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(l api.LanguageStatus) bool { return l.ID == api.BuildLanguage })
	for i := range list {
		factors := s.factors[list[i].ID].Or(api.Factors{Time: 1, Memory: 1})
		list[i].Factors = &factors
	}
	return s.writeJSON(w, http.StatusOK, languageList{Languages: list})
}

func (s *Server) getDoctor(w http.ResponseWriter, r *http.Request) error {
	report, err := s.doctor(r.Context())
	if err != nil {
		return err
	}
	return s.writeJSON(w, http.StatusOK, report)
}

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
