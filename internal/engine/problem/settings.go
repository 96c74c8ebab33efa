package problem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"judged/internal/base/units"
)

// maxSettings bounds a file of settings, such as problem.yaml, and maxAllSettings those of a package together: a test
// may have one. The YAML library compares each key of a mapping with every other one, and those of an alias again. It
// bounds what aliases expand to.
const (
	maxSettings    = units.Bytes(1 << 20)
	maxAllSettings = units.Bytes(8 << 20)
	maxKeys        = 500
	maxAliases     = 100
)

// settings is a YAML file that has a mapping. Keys are taken one by one; what is left is unknown.
type settings struct {
	file string
	keys map[string]yaml.Node
	err  error // the first one
}

func (t *tree) settings(file string) (*settings, error) {
	s := &settings{file: file, keys: map[string]yaml.Node{}}
	if !t.has(file) {
		return s, nil
	}
	b, err := t.content(file, maxSettings)
	if err != nil {
		return nil, err
	}
	if t.read += units.Bytes(len(b)); t.read > maxAllSettings {
		return nil, fmt.Errorf("the settings are larger than %s together; no problem needs that", maxAllSettings)
	}
	var document yaml.Node
	err = yaml.NewDecoder(bytes.NewReader(b)).Decode(&document)
	if errors.Is(err, io.EOF) {
		return s, nil
	}
	if err == nil {
		if err := t.bound(&document); err != nil {
			return nil, fmt.Errorf("parse %s: %w", file, err)
		}
		err = document.Decode(&s.keys)
	}
	if err != nil {
		return nil, fmt.Errorf("parse %s: %s", file, oneLine(err))
	}
	return s, nil
}

// bound refuses what would take long to decode.
func (t *tree) bound(n *yaml.Node) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		if t.aliases++; t.aliases > maxAliases {
			return fmt.Errorf("more than %d aliases in the package; write out what they stand for", maxAliases)
		}
	case yaml.MappingNode:
		if len(n.Content) > 2*maxKeys {
			return fmt.Errorf("line %d: a mapping with more than %d keys; no problem needs that", n.Line, maxKeys)
		}
	}
	for _, inner := range n.Content {
		if err := t.bound(inner); err != nil {
			return err
		}
	}
	return nil
}

// oneLine is an error of the YAML library, which has several lines.
func oneLine(err error) string {
	return strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
}

// take decodes the value of a key into v, and reports whether there is one.
func (s *settings) take(key string, v any) bool {
	n, ok := s.keys[key]
	delete(s.keys, key)
	if !ok || n.Tag == "!!null" {
		return false
	}
	if err := n.Decode(v); err != nil {
		s.fail(key, "%s", oneLine(err))
		return false
	}
	return true
}

func (s *settings) fail(key, format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("read %s: %s: %s", s.file, key, fmt.Sprintf(format, args...))
	}
}

// words takes a string of words or a list of them.
func (s *settings) words(key string) []string {
	n, ok := s.keys[key]
	if ok && n.Kind == yaml.ScalarNode {
		var text string
		s.take(key, &text)
		return strings.Fields(text)
	}
	var list []string
	s.take(key, &list)
	return list
}

// list takes a string or a list of them.
func (s *settings) list(key string) []string {
	n, ok := s.keys[key]
	if ok && n.Kind == yaml.ScalarNode {
		var text string
		if s.take(key, &text) {
			return []string{text}
		}
		return nil
	}
	var list []string
	s.take(key, &list)
	return list
}

// text takes a string that says nothing about how to judge.
func (s *settings) text(key string) {
	text := ""
	s.take(key, &text)
}

// mapping takes a nested mapping.
func (s *settings) mapping(key string) *settings {
	nested := &settings{file: s.file + ": " + key, keys: map[string]yaml.Node{}}
	s.take(key, &nested.keys)
	return nested
}

// drop forgets keys that say nothing about how to judge.
func (s *settings) drop(keys ...string) {
	for _, k := range keys {
		delete(s.keys, k)
	}
}

// close names what was not taken as findings, and returns the first error.
func (s *settings) close(p *Package) error {
	for _, k := range slices.Sorted(maps.Keys(s.keys)) {
		p.find("unknown key %q in %s", k, s.file)
	}
	return s.err
}
