package problem

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"judged/internal/base/text"
	"judged/internal/base/units"
)

// constants are the texts that replace {{NAME}} and {{NAME.VARIANT}} in files of a package.
type constants map[string]string

// valueVariant is the variant of a constant that is not a mapping.
const valueVariant = ".value"

// Limits for files in which constants are replaced, which are sources.
const (
	maxConstantFile = units.Bytes(16 << 20)
	maxReplaced     = units.Bytes(64 << 20) // for all files together
)

var (
	constantName     = text.Pattern(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	constantSequence = text.Pattern(`\{\{[a-zA-Z_][a-zA-Z0-9_]*(\.[a-zA-Z_][a-zA-Z0-9_]*)?\}\}`)
)

// constants reads the constants of problem.yaml: each is a number, a text, or a mapping of variants to these.
func (s *settings) constants() constants {
	all := constants{}
	m := s.mapping("constants")
	for _, name := range slices.Sorted(maps.Keys(m.keys)) {
		if !constantName().MatchString(name) {
			m.fail(name, "is not a valid name; use letters, digits and _, and do not start with a digit")
		}
		if m.keys[name].Kind != yaml.MappingNode {
			all[name+valueVariant] = m.scalar(name)
			continue
		}
		variants := m.mapping(name)
		for _, variant := range slices.Sorted(maps.Keys(variants.keys)) {
			all[name+"."+variant] = variants.scalar(variant)
		}
		if _, ok := all[name+valueVariant]; !ok {
			variants.fail("value", "is missing; add it")
		}
		if m.err == nil {
			m.err = variants.err
		}
	}
	if s.err == nil {
		s.err = m.err
	}
	return all
}

// scalar returns a number or a text as written in the file.
func (s *settings) scalar(key string) string {
	n := s.keys[key]
	delete(s.keys, key)
	if n.Kind == yaml.AliasNode {
		n = *n.Alias
	}
	if n.Kind != yaml.ScalarNode || !slices.Contains([]string{"!!int", "!!float", "!!str"}, n.Tag) {
		s.fail(key, "is neither a number nor a text; quote it if it is a text")
	}
	return n.Value
}

// replaceIn replaces the constants in those files of a package that may use them. The files are copies.
func (c constants) replaceIn(t *tree, p *Package) error {
	left := maxReplaced
	for _, name := range t.names {
		if len(c) == 0 || !hasConstants(name) {
			continue
		}
		info, err := os.Stat(t.path(name))
		if err != nil {
			return err
		}
		if units.Bytes(info.Size()) > maxConstantFile {
			p.unsupported("constants in files larger than %s, such as %s", maxConstantFile, name)
			continue
		}
		before, err := os.ReadFile(t.path(name))
		if err != nil {
			return err
		}
		after := c.replace(before)
		if bytes.Equal(before, after) {
			continue
		}
		if left -= units.Bytes(len(after)); left < 0 {
			return fmt.Errorf("the files with constants are larger than %s together; make them smaller", maxReplaced)
		}
		if err := replaceFile(t.path(name), after, info.Mode().Perm()); err != nil {
			return fmt.Errorf("replace constants in %q: %w", name, err)
		}
	}
	return nil
}

// hasConstants reports whether constants are replaced in a file. Statements also have constants, but are not read.
func hasConstants(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"include", "input_validators", "output_validator", "submissions"}, top) ||
		top == "data" && path.Base(name) == groupFile
}

// replace does not change binaries, nor sequences that name no constant, which are code.
func (c constants) replace(text []byte) []byte {
	if bytes.IndexByte(text, 0) >= 0 {
		return text
	}
	return constantSequence().ReplaceAllFunc(text, func(sequence []byte) []byte {
		name := string(sequence[2 : len(sequence)-2])
		if !strings.Contains(name, ".") {
			name += valueVariant
		}
		if value, ok := c[name]; ok {
			return []byte(value)
		}
		return sequence
	})
}

// replaceFile replaces the content of a file. If the file is a link, its target does not change.
func replaceFile(path string, content []byte, mode os.FileMode) error {
	next := path + ".replaced"
	if err := os.WriteFile(next, content, mode); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}
