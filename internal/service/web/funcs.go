package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/service/render"
)

// maxName is the number of characters of a name that a page shows. maxText is the same for texts, such as output, and
// maxNote for sentences, which may quote one.
const (
	maxName = 120
	maxText = 20_000
	maxNote = 400
)

func functions() template.FuncMap {
	return template.FuncMap{
		"short":       short,
		"note":        note,
		"sentence":    sentence,
		"long":        func(s string) string { return cut(printableLines(s), maxText) },
		"verdictName": render.VerdictName,
		"tone":        tone,
		"duration":    units.Duration,
		"time":        render.Time,
		"bytes":       render.Bytes,
		"limit":       render.Limit,
		"margin":      render.Margin,
		"runs":        render.Runs,
		"score":       render.Score,
		"host":        render.Host,
		"at":          func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"iso":         func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"ago":         ago,
		"percent":     percent,
		"count":       text.Count,
		"ratio":       render.Percent,
		"chance":      chance,
		"nav":         nav,
		"deviation":   deviation,
	}
}

// short returns a name as it is shown: without control characters, on one line, and cut.
func short(s string) string { return text.Printable(cut(s, maxName)) }

// note returns a sentence as it is shown.
func note(s string) string { return text.Printable(cut(strings.ReplaceAll(s, "\n", " "), maxNote)) }

// sentence returns a message as a sentence.
func sentence(s string) string {
	if s = note(s); s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[size:]
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// cut shortens a text to a number of characters. It looks at no more of the text than it keeps.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// printableLines is text.Printable for each line.
func printableLines(s string) string {
	if len(s) > utf8.UTFMax*maxText {
		s = strings.ToValidUTF8(s[:utf8.UTFMax*maxText], "")
	}
	lines := strings.Split(strings.ReplaceAll(s, "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = text.Printable(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// tone returns the class of a verdict.
func tone(v api.Verdict) string {
	switch v {
	case api.Accepted:
		return "good"
	case "", api.Skipped:
		return "plain"
	case api.Partial, api.Cancelled:
		return "odd"
	}
	return "bad"
}

// ago returns the time since an instant, in one unit.
func ago(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case then.IsZero():
		return ""
	case d < time.Second:
		return "now"
	case d < 2*time.Minute:
		return text.Count(int(d/time.Second), "second") + " ago"
	case d < 2*time.Hour:
		return text.Count(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return text.Count(int(d/time.Hour), "hour") + " ago"
	}
	return text.Count(int(d/(24*time.Hour)), "day") + " ago"
}

// percent returns a part of a whole, or a dash without a whole.
func percent(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return render.Percent(float64(part) / float64(whole))
}

// navItem is a page that the head of every page links.
type navItem struct{ Name, Path string }

func nav() []navItem {
	return []navItem{{"Now", "/"}, {"Jobs", "/jobs"}, {"Problems", "/problems"}, {"Rejudgings", "/rejudgings"},
		{"Fairness", "/fairness"}, {"Doctor", "/doctor"}}
}

// deviation returns by how much a node is slower than its pool, with its interval.
func deviation(d *api.Deviation) string {
	if d == nil {
		return ""
	}
	s := fmt.Sprintf("%s (%s to %s)", render.Percent(d.Ratio), render.Percent(d.Low), render.Percent(d.High))
	if d.Deviates {
		s += ", deviates"
	}
	return s
}
