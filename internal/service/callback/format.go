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

// Format defines what is sent, and how. Bodies are JSON.
type Format struct {
	Method string
	Signed bool // signed as a message of Standard Webhooks
	Tests  bool // Body needs the tests and outputs of the report
	// AnyAnswer means that a receiver accepts a callback by any status below 500, and that jobs for a disabled receiver
	// are not refused: senders of the format have never looked at the status.
	AnyAnswer bool
	Limit     time.Duration // of one try, at most 15 s
	// Pauses are the times between tries; there is one try after the last pause. Each varies by up to a fifth.
	Pauses []time.Duration
	Body   func(jobs.Record) ([]byte, error)
}

// standard is the format of Standard Webhooks. Its tries take one day.
var standard = Format{
	Method: http.MethodPost,
	Signed: true,
	Limit:  10 * time.Second,
	Pauses: []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 10 * time.Hour},
	Body: eventBody,
}

// MaxBody is the maximum size of the body of a Standard Webhook in bytes. Labels take up to 19 KiB of it, and the
// message up to 6 KiB.
const MaxBody = 32 << 10

// maxMessage is the maximum size of the message of a report in bytes.
const maxMessage = 1 << 10

// eventBody returns the body of a Standard Webhook. It is the same in all tries, unless a rejudging changes the result.
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
