package callback

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/jobs"
)

// Format is what is sent, and how. Bodies are JSON.
type Format struct {
	Method string
	Signed bool          // as a message of Standard Webhooks
	Tests  bool          // Body needs the tests and outputs of the report
	Limit  time.Duration // for one try, at most 15 s
	// Pauses are the times between tries; the last try is the one after the last pause. They vary by up to a fifth.
	Pauses []time.Duration
	Body   func(jobs.Record) ([]byte, error)
}

// standard is the format of Standard Webhooks. Its tries take a day.
var standard = Format{
	Method: http.MethodPost,
	Signed: true,
	Limit:  10 * time.Second,
	Pauses: []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 10 * time.Hour},
	Body: eventBody,
}

// MaxBody bounds the body of a Standard Webhook, in bytes: the labels take up to 19 KiB of it, the message 6.
const MaxBody = 32 << 10

// maxMessage bounds the message of a report, in bytes.
const maxMessage = 1 << 10

// eventBody returns the body of a Standard Webhook. It is equal in all tries, unless a rejudging was applied meanwhile.
func eventBody(rec jobs.Record) ([]byte, error) {
	r := rec.Report
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	err := e.Encode(api.CallbackEvent{
		Type: "job." + string(r.State),
		Time: r.FinishedAt,
		Data: api.CallbackJob{
			ID: r.ID, Tenant: r.Tenant, State: r.State, Verdict: r.Verdict, JudgementType: r.JudgementType, Fault: r.Fault,
			Score: r.Score, Deterministic: r.Deterministic,
			Message: strings.ToValidUTF8(r.Message[:min(len(r.Message), maxMessage)], ""), Problem: r.Problem,
			CPUTime: r.CPUTime, WallTime: r.WallTime, MemoryPeak: r.MemoryPeak, Labels: r.Labels, Attempt: r.Attempt,
			CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Report: "/v1/jobs/" + r.ID,
		},
	})
	return body.Bytes(), err
}
