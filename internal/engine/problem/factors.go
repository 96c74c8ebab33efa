package problem

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/engine/languages"
)

// ownFile contains settings for judged that no format defines.
const ownFile = "judged-problem.toml"

const maxOwnFile = units.Bytes(64 << 10)

// readFactors reads the factors of limits from ownFile, if it exists.
func (p *Package) readFactors(t *tree) error {
	if !t.has(ownFile) {
		return nil
	}
	text, err := t.content(ownFile, maxOwnFile)
	if err != nil {
		return err
	}
	var own struct {
		Factors map[string]api.Factors `toml:"factors"`
	}
	err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&own)
	if unknown := new(toml.StrictMissingError); errors.As(err, &unknown) {
		line, _ := unknown.Errors[0].Position()
		return fmt.Errorf("%s:%d: %s: unknown key; use factors.LANGUAGE.time_ratio and memory_ratio", ownFile, line,
			strings.Join(unknown.Errors[0].Key(), "."))
	}
	if err != nil {
		return fmt.Errorf("%s: %w; correct the file", ownFile, err)
	}
	for _, id := range slices.Sorted(maps.Keys(own.Factors)) {
		for _, wrong := range own.Factors[id].Check() {
			return fmt.Errorf("%s: factors.%s.%s: %s", ownFile, id, wrong.Field, wrong.Detail)
		}
	}
	p.Factors = own.Factors
	return nil
}

// CheckLanguages adds a finding for each language with factors for which check returns an error, and for each unknown one in
// languages of problem.yaml and in include/. Formats of ICPC and Kattis have languages that judged does not have. An
// unknown language in submissions.yaml is an error.
func (p *Package) CheckLanguages(check func(id string) error) error {
	for _, id := range slices.Sorted(maps.Keys(p.Factors)) {
		if err := check(id); err != nil {
			p.find("%s: factors of a language that this host does not support: %v", ownFile, err)
		}
	}
	builtIn, err := languages.Load("")
	if err != nil {
		return err
	}
	unknown := func(id string) bool {
		_, known := builtIn[id]
		return id != "" && !known && !slices.Contains(kattisLanguages, id) && check(id) != nil
	}
	for _, id := range p.Languages {
		if unknown(id) {
			p.find("problem.yaml: languages: unknown language %q", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.Includes)) {
		if unknown(id) {
			p.find("include/%s is not used: unknown language %q", id, id)
		}
	}
	if i := slices.IndexFunc(p.declared, unknown); i >= 0 {
		return fmt.Errorf("%s: unknown language %q; use one of %s", submissionsFile, p.declared[i],
			strings.Join(kattisLanguages, ", "))
	}
	return nil
}

// kattisLanguages are the languages of the formats of ICPC and Kattis.
var kattisLanguages = strings.Fields("ada algol68 algol60 apl bash bqn c cgmp cobol cpp cppgmp crystal " +
	"csharp d dart elixir erlang forth fortran fsharp gerbil go haskell java javaalgs4 javascript jlisp " +
	"julia kotlin lisp lua modula2 nim objectivec ocaml octave odin pascal perl php prolog python python2 " +
	"python3 python3numpy racket ruby rust scala simula smalltalk snobol swift typescript visualbasic zig")
