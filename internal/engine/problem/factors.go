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

// CheckFactors adds a finding for each language with factors for which check returns an error.
func (p *Package) CheckFactors(check func(id string) error) {
	for _, id := range slices.Sorted(maps.Keys(p.Factors)) {
		if err := check(id); err != nil {
			p.find("%s: factors of a language that this host does not support: %v", ownFile, err)
		}
	}
}
