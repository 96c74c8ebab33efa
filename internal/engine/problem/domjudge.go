package problem

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/units"
)

// domjudgeFile contains DOMjudge's settings of a legacy package.
const domjudgeFile = "domjudge-problem.ini"

// domjudgeIgnored are keys of domjudgeFile that do not affect judging.
var domjudgeIgnored = strings.Fields("externalid allow_submit allow_judge points color rgb short-name probid")

// domjudgePrograms are keys that name programs in DOMjudge's database.
var domjudgePrograms = strings.Fields("special_run special_compare special_compare_args combined_run_compare")

// readDOMjudge reads the extensions of DOMjudge in legacy packages. Of several time limits, the last one is used.
func (p *Package) readDOMjudge(t *tree) error {
	if t.has(timeLimitFile) {
		b, err := t.content(timeLimitFile, maxSettings)
		if err == nil {
			err = p.limitOfDOMjudge(timeLimitFile, strings.TrimSpace(string(b)))
		}
		if err != nil {
			return err
		}
	}
	if !t.has(domjudgeFile) {
		return nil
	}
	b, err := t.content(domjudgeFile, maxSettings)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.ContainsRune(";#[", rune(line[0])) { // a comment, or the start of a section
			continue
		}
		key, value, given := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), valueOfINI(value)
		if seen[key] {
			p.find("%s, line %d: duplicate key %q; the last one is used", domjudgeFile, n, key)
			if key == "timelimit" {
				p.Limits.Time = 0
			}
		}
		seen[key] = true
		switch {
		case !given:
			p.find("%s, line %d: %q is not used; write KEY = VALUE", domjudgeFile, n, line)
		case key == "timelimit":
			if err := p.limitOfDOMjudge(domjudgeFile, value); err != nil {
				return err
			}
		case key == "name":
			if p.Name == "" {
				p.Name = value
			}
		case slices.Contains(domjudgePrograms, key):
			p.unsupported("%s in %s", key, domjudgeFile)
		case !slices.Contains(domjudgeIgnored, key):
			p.find("unknown key %q in %s", key, domjudgeFile)
		}
	}
	return lines.Err()
}

// valueOfINI returns a value without its quotes and the comment after it.
func valueOfINI(text string) string {
	text = strings.TrimSpace(text)
	if text != "" && strings.ContainsRune(`"'`, rune(text[0])) {
		if value, _, closed := strings.Cut(text[1:], text[:1]); closed {
			return value
		}
	}
	value, _, _ := strings.Cut(text, ";")
	return strings.Trim(strings.TrimSpace(value), `"'`)
}

// limitOfDOMjudge sets the time limit. It adds a finding if another file has another one.
func (p *Package) limitOfDOMjudge(file, value string) error {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n >= 0.001 && n < maxLimit) {
		return fmt.Errorf("%s: time limit %q is not a number of seconds from 0.001", file, value)
	}
	if limit := seconds(n); p.Limits.Time != 0 && p.Limits.Time != limit {
		p.find("the time limit is %s in %s and %s in another file; the former is used", units.Duration(limit), file,
			units.Duration(p.Limits.Time))
	}
	p.Limits.Time = seconds(n)
	return nil
}

// ofDOMjudge returns a file that shows that a package is made for DOMjudge: its settings, or a submission with the tag for
// points, which only DOMjudge has. Otherwise, or if the package has parts that only Kattis has, it returns "".
func (t *tree) ofDOMjudge() (string, error) {
	switch {
	case t.has(domjudgeFile):
		return domjudgeFile, nil
	case len(t.under("graders")) > 0, len(t.under("submissions/partially_accepted")) > 0:
		return "", nil
	}
	for _, f := range t.under("submissions") {
		head, err := readHead(f.Path, maxTagged)
		if err != nil {
			return "", err
		}
		for _, m := range expectedTag().FindAllSubmatch(head, -1) {
			if strings.EqualFold(string(m[1]), "SCORE") {
				return "submissions/" + f.Name, nil
			}
		}
	}
	return "", nil
}
