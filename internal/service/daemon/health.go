package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/engine"
	"judged/internal/host/slots"
)

// examineEvery is the interval between doctor's checks.
const examineEvery = 60 * time.Second

// health reports whether the host is fit to judge.
type health struct {
	eng  *engine.Engine
	pool *slots.Pool
	log  *slog.Logger
	last atomic.Pointer[api.DoctorReport]
}

// examine runs doctor and stores its report.
func (h *health) examine(ctx context.Context) error {
	r, err := h.eng.Doctor(ctx)
	if err != nil {
		return err
	}
	if before := h.last.Swap(&r); before == nil || before.Ready != r.Ready {
		if r.Ready {
			h.log.Info("the host is fit to judge")
		} else {
			h.log.Warn("the host is not fit to judge; run judged doctor", "failed", strings.Join(r.FailedIDs(), ","))
		}
	}
	return nil
}

// report returns doctor's last report.
func (h *health) report() api.DoctorReport { return *h.last.Load() }

// fit returns the reason why no slot may judge, or nil; always nil unless slots.strict is set.
func (h *health) fit() error {
	var err error
	for _, s := range h.eng.Slots() {
		if err = h.eng.Fit(s.CPUs); err == nil {
			return nil
		}
	}
	return err
}

// inUse returns the reasons why every slot is out of use, or nil if one is in use. The text of an operator appears only
// in GET /v1/slots, which needs a token: GET /readyz needs none.
func (h *health) inUse() error {
	var why []string
	for _, s := range h.pool.Snapshot() {
		if s.State == slots.Idle || s.State == slots.Busy {
			return nil
		}
		why = append(why, fmt.Sprintf("%s is %s (%s)", s.CPUs, s.State, s.Cause))
	}
	return fmt.Errorf("no slot is in use: %s; see GET /v1/slots", strings.Join(why, ", "))
}

// watch examines the host once a minute.
func (h *health) watch(ctx context.Context) {
	for range poll.Every(ctx, examineEvery) {
		if err := h.examine(ctx); err != nil {
			h.log.Warn("cannot examine the host", "error", err)
		}
	}
}
