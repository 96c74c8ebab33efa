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

// LogValue returns all settings under their keys, without secrets.
func (c Config) LogValue() slog.Value {
	c.Database.URL = redactURL(c.Database.URL)
	var attrs []slog.Attr
	for _, k := range keys(&c) {
		attrs = append(attrs, slog.String(k.path, k.text()))
	}
	return slog.GroupValue(attrs...)
}

// LogValue returns the URL without its user, password and parameters.
func (d Database) LogValue() slog.Value {
	return slog.StringValue(redactURL(d.URL))
}

func (k key) text() string {
	switch x := k.field.Interface().(type) {
	case units.Bytes:
		return x.String()
	case time.Duration:
		return durationText(x)
	case cpuset.Set:
		return x.String()
	case []string:
		return strings.Join(x, ",")
	default:
		return fmt.Sprint(x)
	}
}

// redactURL hides the user and the parameters, which may contain a password.
func redactURL(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		return "(unreadable)"
	}
	if u.User != nil {
		u.User = url.User("redacted")
	}
	u.RawQuery = ""
	return u.String()
}
