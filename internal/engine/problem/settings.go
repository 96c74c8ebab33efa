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

// maxSettings bounds files of settings, such as problem.yaml. The YAML library bounds what aliases expand to.
const maxSettings = units.Bytes(1 << 20)

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
	b, err := t.read(file, maxSettings)
	if err != nil {
		return nil, err
	}
	err = yaml.NewDecoder(bytes.NewReader(b)).Decode(&s.keys)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("parse %s: %s", file, oneLine(err))
	}
	return s, nil
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
