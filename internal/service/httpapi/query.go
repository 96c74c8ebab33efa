package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/text"
	"judged/internal/jobs"
	"judged/internal/jobs/intake"
)

// query returns the parameters of r. Only known parameters are accepted, and only those that end in "*" may be
// repeated. An empty value is an error, except where the document permits one: it is rather a variable that has no value
// in the program of the caller.
func query(r *http.Request, known []string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, problem("bad-request", "encode the query", "invalid query: %s", err)
	}
	for name, list := range values {
		switch many := slices.Contains(known, name+"*"); {
		case !many && !slices.Contains(known, name):
			next := "send no parameters"
			if len(known) > 0 {
				next = "use " + strings.ReplaceAll(strings.Join(known, ", "), "*", "")
			}
			return nil, problem("bad-request", next, "unknown parameter %.70q", name)
		case !many && len(list) > 1:
			return nil, problem("bad-request", "send it once", "parameter %q is given %d times", name, len(list))
		case slices.Contains(list, "") && !slices.Contains([]string{"after", "reason", "wait"}, name):
			return nil, emptyParameter(name)
		}
	}
	return values, nil
}

func emptyParameter(name string) error {
	return problem("bad-request", "give it a value, or leave it out", "parameter %s is empty", name)
}

// maxWait limits a long poll: proxies give up after about a minute.
const maxWait = time.Minute

// waitText is the syntax of wait: Go's durations without signs, and without numbers
// that overflow.
var waitText = text.Pattern(`^(0|([0-9]{1,5}(\.[0-9]{1,9})?(ms|s|m|h)){1,4})?$`)

// waitOf returns the parameter wait, at most maxWait.
func waitOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || !waitText().MatchString(text) {
		return 0, problem("bad-request", `send a duration with its unit, such as wait=30s`,
			"parameter wait: %.70q is not a duration", text)
	}
	return min(d, maxWait), nil
}

// The number of entries on a page of a list.
const (
	pageDefault = 100
	pageMost    = 500 // the limit of the store
)

func filterOf(values url.Values) (jobs.Filter, error) {
	f := jobs.Filter{State: api.State(values.Get("state")), Tenant: values.Get("tenant"), After: values.Get("after")}
	if values.Has("tenant") && !config.ValidTenant(f.Tenant) {
		return f, problem("bad-request", "use 1 to 64 letters, digits, - and _", "parameter tenant: %.70q", f.Tenant)
	}
	states := []api.State{api.Queued, api.Running, api.Done, api.CancelledState}
	if values.Has("state") && !slices.Contains(states, f.State) {
		return f, problem("bad-request", "use queued, running, done or cancelled", "parameter state: %.70q is unknown",
			f.State)
	}
	for _, name := range []string{"verdict", "problem", "language", "created_from", "created_to"} { // of a page
		if values.Has(name) && values.Get(name) == "" {
			return f, emptyParameter(name)
		}
	}
	f.Verdict, f.Problem, f.Language = api.Verdict(values.Get("verdict")), values.Get("problem"), values.Get("language")
	if why := invalidFilter(api.RejudgingFilter{Verdict: f.Verdict, Problem: f.Problem}); why != "" {
		return f, problem("bad-request", "use a verdict of a report and the id of a problem", "%s", why)
	}
	if f.Language != "" && !languageID().MatchString(f.Language) {
		return f, problem("bad-request", "use an id of GET /v1/languages", "parameter language: %.70q", f.Language)
	}
	var err error
	for name, at := range map[string]*time.Time{"created_from": &f.From, "created_to": &f.To} {
		if *at, err = timeOf(values, name); err != nil {
			return f, err
		}
	}
	if f.Label, err = labelsOf(values); err != nil {
		return f, err
	}
	for key := range f.Label {
		f.Audits = f.Audits || jobs.ListsCopies(key)
	}
	f.Limit, err = limitOf(values)
	return f, err
}

// languageID is the syntax of the IDs of languages.
var languageID = text.Pattern(`^[A-Za-z0-9][A-Za-z0-9.+#_-]{0,63}$`)

// timeOf returns a parameter that is a time, or the zero time without it.
func timeOf(values url.Values, name string) (time.Time, error) {
	text := values.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || !ofThisAge(at) {
		return time.Time{}, problem("bad-request", "send a time as 2026-11-20T09:00:00Z, with + as %2B",
			"parameter %s: %.70q is not a time of this age", name, text)
	}
	return at, nil
}

// ofThisAge reports whether the store can compare with a time. It has nanoseconds since 1970, which overflow.
func ofThisAge(at time.Time) bool { return 1970 <= at.UTC().Year() && at.UTC().Year() <= 2200 }

// labelsOf returns the parameters label.
func labelsOf(values url.Values) (labels map[string]string, err error) {
	if n := len(values["label"]); n > intake.MaxLabels {
		return nil, problem("bad-request", "send fewer", "parameter label is given %d times, and no job has more than %d",
			n, intake.MaxLabels)
	}
	for _, label := range values["label"] {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" {
			return nil, problem("bad-request", "send label=KEY=VALUE, as label=team%3D7",
				"parameter label: %.70q has no value", label)
		}
		if err := intake.CheckLabel(key, value); err != nil {
			return nil, problem("bad-request", "send a label that a job can have", "parameter label: %s", err)
		}
		if before, ok := labels[key]; ok && before != value {
			return nil, problem("bad-request", "send each key once",
				"parameter label: no job has both %.70s=%.70q and %.70s=%.70q", key, before, key, value)
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
	}
	return labels, nil
}

// pageOf returns the parameters of a list with pages.
func pageOf(r *http.Request) (values url.Values, limit int, err error) {
	values = r.URL.Query()
	limit, err = limitOf(values)
	return values, limit, err
}

// limitOf returns the parameter limit, the number of entries on a page.
func limitOf(values url.Values) (int, error) {
	text := values.Get("limit")
	if text == "" {
		return pageDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > pageMost {
		return 0, problem("bad-request", "send a number from 1 to 500", "parameter limit: %.70q", text)
	}
	return n, nil
}
