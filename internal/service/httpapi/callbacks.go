package httpapi

import (
	"net/http"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/jobs"
)

// callbackList has the callbacks of a job.
type callbackList struct {
	Callbacks []api.CallbackLog `json:"callbacks"`
}

func (s *Server) getCallbacks(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	list, err := s.jobs.Callbacks(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.writeJSON(w, http.StatusOK, callbackList{list})
}

// receiverID matches the ID of a receiver, which is also the cursor of a page.
var receiverID = text.Pattern(`^[0-9a-f]{32}$`)

func (s *Server) listReceivers(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "after", "limit")
	if err != nil {
		return err
	}
	limit, err := limitOf(values)
	if err != nil {
		return err
	}
	after := values.Get("after")
	if after != "" && !receiverID().MatchString(after) {
		return problem("bad-request", "send the member next of the previous page", "parameter after is not a cursor")
	}
	page, next, err := s.jobs.Receivers(r.Context(), after, limit)
	if err != nil {
		return err
	}
	return s.writeJSON(w, http.StatusOK, api.ReceiverList{Receivers: page, Next: next})
}

// enableReceiver ends the pause of a receiver. Enabling it again changes nothing.
func (s *Server) enableReceiver(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("receiver")
	if !receiverID().MatchString(id) {
		return jobs.ErrNoReceiver
	}
	receiver, err := s.jobs.EnableReceiver(r.Context(), id)
	if err != nil {
		return err
	}
	s.log.Info("enabled a receiver of callbacks", "receiver", receiver.Origin, "id", receiver.ID, by(r))
	return s.writeJSON(w, http.StatusOK, receiver)
}
