package problem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
)

// maxSettings is the maximum size of a settings file such as problem.yaml. maxAllSettings is that of all settings of a
// package, because each test may have a file. The YAML library compares each key of a mapping with every other, and
// repeats that for each alias. It limits the expansion of aliases itself.
const (
	maxSettings    = units.Bytes(1 << 20)
	maxAllSettings = units.Bytes(8 << 20)
	maxKeys        = 500
	maxAliases     = 100
)

// settings is a YAML file with a mapping. Decoding a key removes it, so the remaining keys are unknown.
type settings struct {
	file    string
	keys    map[string]yaml.Node
	err     error           // first error
	find    finder          // adds findings
	foreign map[string]bool // keys of other versions of the format
}

// finder adds a finding.
type finder func(format string, args ...any)

func (t *tree) settings(file string) (*settings, error) {
	s := &settings{file: file, keys: map[string]yaml.Node{}, find: t.find, foreign: map[string]bool{}}
	if !t.has(file) {
		return s, nil
	}
	b, err := t.content(file, maxSettings)
	if err != nil {
		return nil, err
	}
	if t.read += units.Bytes(len(b)); t.read > maxAllSettings {
		return nil, fmt.Errorf("the settings are larger than %s together; make them smaller", maxAllSettings)
	}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(version1(b)))
	err = decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return s, nil
	}
	if err == nil {
		if further := (yaml.Node{}); !errors.Is(decoder.Decode(&further), io.EOF) {
			return nil, fmt.Errorf("parse %s: a second document begins after ---; leave one document in the file", file)
		}
		if err := t.bound(&document); err != nil {
			return nil, fmt.Errorf("parse %s: %w", file, err)
		}
		t.lastOfEach(file, &document)
		err = document.Decode(&s.keys)
	}
	if err != nil {
		return nil, fmt.Errorf("parse %s: %s", file, oneLine(err))
	}
	return s, nil
}

// mainSettings is settings for the file that identifies a package. Without keys it may be cut off.
func (t *tree) mainSettings(file string) (*settings, error) {
	s, err := t.settings(file)
	if err == nil && t.has(file) && len(s.keys) == 0 {
		t.find("%s has no keys", file)
	}
	return s, err
}

// version1 replaces the version in the first line of a YAML file, such as %YAML 1.2. The library refuses all but 1.1,
// but other tools read any 1.x in the same way.
func version1(b []byte) []byte {
	const directive = "%YAML 1."
	line, rest, found := bytes.Cut(b, []byte("\n"))
	if !found || !bytes.HasPrefix(line, []byte(directive)) {
		return b
	}
	return append([]byte(directive+"1\n"), rest...)
}

// bound returns an error for files that would take long to decode.
func (t *tree) bound(n *yaml.Node) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		if t.aliases++; t.aliases > maxAliases {
			return fmt.Errorf("more than %d aliases in the package; replace them with their content", maxAliases)
		}
	case yaml.MappingNode:
		if len(n.Content) > 2*maxKeys {
			return fmt.Errorf("line %d: a mapping with more than %d keys; use fewer", n.Line, maxKeys)
		}
	}
	for _, inner := range n.Content {
		if err := t.bound(inner); err != nil {
			return err
		}
	}
	return nil
}

// lastOfEach removes duplicate keys of a mapping except for the last, which other tools use. Merge keys are not
// duplicates.
func (t *tree) lastOfEach(file string, n *yaml.Node) {
	for _, inner := range n.Content {
		t.lastOfEach(file, inner)
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	last := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		last[n.Content[i].Value] = i
	}
	var left []*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Kind == yaml.ScalarNode && key.Tag != "!!merge" && last[key.Value] != i {
			t.find("%s: line %d: duplicate key %q; the last one is used", file, key.Line, key.Value)
			continue
		}
		left = append(left, n.Content[i:i+2]...)
	}
	n.Content = left
}

// oneLine formats an error of the YAML library, which has several lines and Go's types, for setters.
func oneLine(err error) string {
	said := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:")
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for i, line := range lines {
		line = wrongType().ReplaceAllStringFunc(line, func(found string) string {
			m := wrongType().FindStringSubmatch(found)
			return fmt.Sprintf("%s is not %s", valueOf(m[1], m[2]), wantedAs(m[3]))
		})
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "; ")
}

// wrongType has a YAML tag, the start of the value if it is no list or mapping, and a type of Go.
var wrongType = text.Pattern("cannot unmarshal !!(\\w+)(?: `([^`]*)`)? into (struct \\{.*\\}|\\S+)")

func valueOf(tag, value string) string {
	switch tag {
	case "seq":
		return "a list"
	case "map":
		return "a mapping"
	}
	if tag == "str" {
		return "the text " + strconv.Quote(value)
	}
	return value
}

func wantedAs(goType string) string {
	goType = strings.TrimPrefix(goType, "*")
	switch {
	case strings.HasPrefix(goType, "["):
		return "a list"
	case goType == "float64":
		return "a number"
	case strings.HasPrefix(goType, "int"):
		return "a whole number"
	case goType == "bool":
		return "true or false"
	case goType == "string":
		return "a text"
	}
	return "a mapping"
}

// decode decodes the value of a key into v. It reports whether the key has a value.
func (s *settings) decode(key string, v any) bool {
	n, ok := s.keys[key]
	delete(s.keys, key)
	if !ok || n.Tag == "!!null" {
		return false
	}
	for i, item := range n.Content {
		if n.Kind == yaml.SequenceNode && item.Tag == "!!null" { // it would be left out, or 0
			s.fail(key, "item %d has no value; write one, or remove the item", i+1)
			return false
		}
	}
	if err := n.Decode(v); err != nil {
		s.fail(key, "%s", oneLine(err))
		return false
	}
	return true
}

func (s *settings) fail(key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.foreign[key] {
		s.find("%s: %s is not used: %s", s.file, key, text)
	} else if s.err == nil {
		s.err = fmt.Errorf("read %s: %s: %s", s.file, key, text)
	}
}

// ofOthers adds a finding for keys that the version of the format does not have. They are used if possible, because
// setters expect an effect, but other tools ignore them, so they are never an error. There is one finding for all
// groups.
func (s *settings) ofOthers(version api.ProblemFormat, keys ...string) {
	for _, key := range keys {
		if _, ok := s.keys[key]; ok {
			s.foreign[key] = true
			s.find("%s: %s is not a key of the format %s; judged uses it if possible", path.Base(s.file), key, version)
		}
	}
}

// words decodes a string of words or a list of words.
func (s *settings) words(key string) []string {
	n, ok := s.keys[key]
	if ok && n.Kind == yaml.ScalarNode {
		var text string
		s.decode(key, &text)
		return strings.Fields(text)
	}
	var list []string
	s.decode(key, &list)
	return list
}

// someWords is like words, for a key whose value must not be empty.
func (s *settings) someWords(key string) []string {
	n := s.keys[key]
	words := s.words(key)
	if len(words) == 0 && n.Kind != 0 && n.Tag != "!!null" {
		s.fail(key, "is empty; name one, or leave the key out")
	}
	return words
}

// list decodes a string or a list of strings.
func (s *settings) list(key string) []string {
	n, ok := s.keys[key]
	if ok && n.Kind == yaml.ScalarNode {
		var text string
		if s.decode(key, &text) {
			return []string{text}
		}
		return nil
	}
	var list []string
	s.decode(key, &list)
	return list
}

// arguments decodes a list of strings. Words of a text would be one argument, which nobody wants.
func (s *settings) arguments(key string) []string {
	if n := s.keys[key]; n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		s.fail(key, "is a text; write a list, such as [%s]", strings.Join(strings.Fields(n.Value), ", "))
		s.ignore(key)
		return nil
	}
	return s.list(key)
}

// text decodes a string that does not affect judging.
func (s *settings) text(key string) {
	text := ""
	s.decode(key, &text)
}

// mapping decodes a nested mapping.
func (s *settings) mapping(key string) *settings {
	if n, ok := s.keys[key]; ok && n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		s.fail(key, "line %d: %q has no keys; write a mapping", n.Line, n.Value)
		s.ignore(key)
	}
	nested := &settings{file: s.file + ": " + key, keys: map[string]yaml.Node{}, find: s.find,
		foreign: map[string]bool{}}
	if s.decode(key, &nested.keys); s.foreign[key] {
		for k := range nested.keys {
			nested.foreign[k] = true
		}
	}
	return nested
}

// has reports whether one of the keys remains.
func (s *settings) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { _, ok := s.keys[k]; return ok })
}

// ignore removes keys that do not affect judging.
func (s *settings) ignore(keys ...string) {
	for _, k := range keys {
		delete(s.keys, k)
	}
}

// close adds findings for the remaining keys, and returns the first error.
func (s *settings) close(p *Package) error {
	for _, k := range slices.Sorted(maps.Keys(s.keys)) {
		p.find("unknown key %q in %s", k, s.file)
	}
	return s.err
}
