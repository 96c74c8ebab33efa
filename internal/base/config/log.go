package config

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
)

// LogValue lists every setting under its key, without secrets.
func (c Config) LogValue() slog.Value {
	c.Broker.URL = redactURLs(c.Broker.URL)
	var attrs []slog.Attr
	for _, k := range keys(&c) {
		attrs = append(attrs, slog.String(k.path, k.text()))
	}
	return slog.GroupValue(attrs...)
}

// LogValue is the address without credentials.
func (b Broker) LogValue() slog.Value {
	return slog.StringValue(redactURLs(b.URL))
}

func (k key) text() string {
	switch x := k.field.Interface().(type) {
	case units.Bytes:
		return x.String()
	case time.Duration:
		return durationText(x)
	case cpuset.Set:
		return x.String()
	default:
		return fmt.Sprint(x)
	}
}

// redactURLs hides the whole user part: NATS takes a token in the place of the
// user name, which url.URL.Redacted would show.
func redactURLs(list string) string {
	if list == "" {
		return ""
	}
	var out []string
	for server := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		if err != nil {
			out = append(out, "(unreadable)")
			continue
		}
		if u.User != nil {
			u.User = url.User("redacted")
		}
		u.RawQuery = ""
		out = append(out, u.String())
	}
	return strings.Join(out, ",")
}
