package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
)

// component is a component of a CycloneDX document.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// writeSBOM lists the modules that the linker has recorded in a program, and Go's standard library. judged-init, which
// judged carries inside itself, has no modules besides these.
func writeSBOM(out io.Writer, program, version string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the modules of %q: %w", program, err)
	}
	if len(info.Deps) == 0 {
		return fmt.Errorf("%q names no modules; build it in the repository", program)
	}
	std := component{Type: "library", Ref: "std", Name: "std", Version: info.GoVersion,
		PURL: "pkg:golang/std@" + info.GoVersion}
	components, refs := []component{std}, []string{std.Ref}
	for _, m := range info.Deps {
		c := library(m)
		components, refs = append(components, c), append(refs, c.Ref)
	}
	settings := component{Type: "application", Ref: info.Main.Path, Name: info.Main.Path, Version: version}
	for _, s := range info.Settings {
		settings.Properties = append(settings.Properties, property{"build:" + s.Key, s.Value})
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{"component": settings}, "components": components,
		"dependencies": []map[string]any{{"ref": settings.Ref, "dependsOn": refs}}})
}

func library(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	return component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl,
		Properties: []property{{"go.sum", m.Sum}}}
}
