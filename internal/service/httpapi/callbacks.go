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

func (s *Server) getCallbacks(r *http.Request) (any, error) {
	list, err := s.jobs.Callbacks(r.Context(), r.PathValue("id"))
	return callbackList{list}, err
}

// receiverID matches the ID of a receiver, which is also the cursor of a page.
var receiverID = text.Pattern(`^[0-9a-f]{32}$`)

func (s *Server) listReceivers(r *http.Request) (any, error) {
	values, limit, err := pageOf(r)
	if err != nil {
		return nil, err
	}
	after := values.Get("after")
	if after != "" && !receiverID().MatchString(after) {
		return nil, problem("bad-request", "send the member next of the previous page",
			"parameter after is not a cursor")
	}
	page, next, err := s.jobs.Receivers(r.Context(), after, limit)
	return api.ReceiverList{Receivers: page, Next: next}, err
}

// enableReceiver ends the pause of a receiver. Enabling it again changes nothing.
func (s *Server) enableReceiver(r *http.Request) (any, error) {
	id := r.PathValue("receiver")
	if !receiverID().MatchString(id) {
		return nil, jobs.ErrNoReceiver
	}
	receiver, err := s.jobs.EnableReceiver(r.Context(), id)
	if err != nil {
		return nil, err
	}
	s.log.Info("enabled a receiver of callbacks", "receiver", receiver.Origin, "id", receiver.ID, by(r))
	return receiver, nil
}
