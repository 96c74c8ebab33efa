package api

import (
	"net/url"
	"strings"
	"time"

	"judged/internal/base/units"
)

// Callback is where judged reports the end of a job.
type Callback struct {
	URL string `json:"url"`
	// Format says how the callback is sent. Callers cannot send it.
	Format CallbackFormat `json:"format,omitempty" from:"judged"`
}

// Origin returns the scheme, host and port of the URL, such as https://platform.example.org, or "" for an invalid URL.
func (c Callback) Origin() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[scheme])
	return scheme + "://" + host
}

// CallbackFormat names what is sent as a callback, and how; package callback has the formats.
type CallbackFormat string

// StandardWebhook is a signed CallbackEvent, as a request of Standard Webhooks.
const StandardWebhook CallbackFormat = ""

// CallbackEvent is the body of a callback.
type CallbackEvent struct {
	Type string      `json:"type"`      // job.done or job.cancelled
	Time time.Time   `json:"timestamp"` // when the job ended
	Data CallbackJob `json:"data"`
}

// CallbackJob is the part of a report that a callback has. Its members are as in Report.
type CallbackJob struct {
	ID            string            `json:"id"`
	Tenant        string            `json:"tenant,omitempty"`
	State         State             `json:"state"`
	Verdict       Verdict           `json:"verdict,omitempty"`
	JudgementType string            `json:"judgement_type,omitempty"`
	Fault         Fault             `json:"fault,omitempty"`
	Score         *float64          `json:"score,omitempty"`
	Deterministic *bool             `json:"deterministic,omitempty"`
	Message       string            `json:"message,omitempty"` // its first KiB
	Problem       *ProblemVersion   `json:"problem,omitempty"`
	CPUTime       *time.Duration    `json:"cpu_time_ns,omitempty"`
	WallTime      *time.Duration    `json:"wall_time_ns,omitempty"`
	MemoryPeak    *units.Bytes      `json:"memory_peak_bytes,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	Attempt       int               `json:"attempt"`
	CreatedAt     time.Time         `json:"created_at"`
	StartedAt     time.Time         `json:"started_at,omitzero"`
	FinishedAt    time.Time         `json:"finished_at"`
	Report        string            `json:"report"` // path of the whole report
}

// CallbackState is the state of a callback.
type CallbackState string

// The states of a callback.
const (
	CallbackWaiting   CallbackState = "waiting"   // for the end of the job
	CallbackPending   CallbackState = "pending"   // will be tried at NextTry or later
	CallbackDelivered CallbackState = "delivered" // the receiver has answered with a status of 200 to 299
	CallbackGivenUp   CallbackState = "given-up"  // it is not tried again
)

// CallbackLog is the callback of a job and its tries.
type CallbackLog struct {
	ID        string        `json:"id,omitempty"` // the header webhook-id, equal in all tries
	URL       string        `json:"url"`
	State     CallbackState `json:"state"`
	Receiver  *Receiver     `json:"receiver,omitempty"`  // if its last try failed
	CreatedAt time.Time     `json:"created_at,omitzero"` // when the job ended
	NextTry   time.Time     `json:"next_try_at,omitzero"`
	Tries     []CallbackTry `json:"tries"` // the last MaxCallbackTries
}

// MaxCallbackTries is the maximum number of tries in a CallbackLog.
const MaxCallbackTries = 20

// CallbackTry is one try to deliver a callback.
type CallbackTry struct {
	Number    int            `json:"number"` // from 1; the try after an interrupted one has the same number
	StartedAt time.Time      `json:"started_at,omitzero"`
	Took      time.Duration  `json:"took_ns,omitempty"`
	Result    CallbackResult `json:"result"`
	Status    int            `json:"status,omitempty"` // of the answer, if there was one
	Error     string         `json:"error,omitempty"`
}

// CallbackResult is the result of one try.
type CallbackResult string

// The results of a try, a closed set.
const (
	TryDelivered CallbackResult = "delivered"
	TryFailed    CallbackResult = "failed"   // it is tried again
	TryGivenUp   CallbackResult = "given_up" // the last try failed, or the receiver wants no more
	// TryInterrupted means that judged ended meanwhile, or could not read files of the report. It is tried again.
	TryInterrupted CallbackResult = "interrupted"
)

// CallbackResults returns all results.
func CallbackResults() []CallbackResult {
	return []CallbackResult{TryDelivered, TryFailed, TryGivenUp, TryInterrupted}
}

// Receiver is the origin of callback URLs of one tenant, such as https://platform.example.org.
type Receiver struct {
	ID       string    `json:"id"`
	Origin   string    `json:"origin"`
	Tenant   string    `json:"tenant,omitempty"`
	Failures int       `json:"failures"`              // tries that failed since the last that did not
	Paused   time.Time `json:"paused_until,omitzero"` // no try before then
	// Disabled means that it failed too often or has answered with 410: until then, jobs with a callback to it are
	// refused.
	Disabled  bool   `json:"disabled"`
	LastError string `json:"last_error,omitempty"`
}

// ReceiverList is a page of the receivers whose last try failed.
type ReceiverList struct {
	Receivers []Receiver `json:"receivers"`
	Next      string     `json:"next,omitempty"`
}
