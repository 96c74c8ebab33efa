package languages

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"judged/internal/api"
	"judged/internal/sandbox"
)

// plan is one compilation: the sources with their final names, and the command.
type plan struct {
	language Language
	files    []sandbox.File
	command  []string
}

// maxFound is how much of a source entry_find searches, in bytes.
const maxFound = 1 << 20

// plan names the first source and fills in the command.
func (l Language) plan(files []sandbox.File, options []string) (plan, error) {
	if err := l.allows(options); err != nil {
		return plan{}, err
	}
	p := plan{language: l, files: slices.Clone(files)}
	entry, err := l.entryOf(files[0].Path)
	if err != nil {
		return plan{}, err
	}
	if p.files[0].Name == "" || l.find != nil {
		p.files[0].Name = entry
		if len(l.Extensions) > 0 {
			p.files[0].Name += l.Extensions[0]
		}
	}
	name := p.files[0].Name
	for i, f := range p.files {
		if i > 0 && f.Name == name {
			return plan{}, &nameError{name}
		}
		p.files[i].Exec = false
	}
	var sources []string
	for _, name := range p.sources() {
		sources = append(sources, argument(name))
	}
	output := "/box/" + outputPath
	if l.leavesFolder() {
		output = "/box/" + outputFolder
	}
	p.command = command(l.Compile, map[string][]string{sourcesMark: sources, optionsMark: options},
		map[string]string{outputMark: output, entryMark: strings.TrimSuffix(name, filepath.Ext(name))})
	return p, nil
}

// allows returns an error for an option that jobs may not add. The front of a fleet has checked them, but this host may
// have another list.
func (l Language) allows(options []string) error {
	for _, o := range options {
		if !slices.Contains(l.CompileOptions, o) {
			return &api.LanguageUnavailableError{Language: l.ID, Reason: fmt.Sprintf("its compile_options do not have "+
				"%.100q; add it to languages.file of this host, or send one of %s", o,
				strings.Join(l.CompileOptions, ", "))}
		}
	}
	return nil
}

// sources returns the names of the compiled sources, the first source first.
func (p plan) sources() (names []string) {
	for i, f := range p.files {
		if i == 0 || p.language.isSource(f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// argument returns the name of a file as an argument for a compiler, which would treat a name that starts like an
// option as one.
func argument(name string) string {
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "@") {
		return "./" + name
	}
	return name
}

// nameError means that the language gives the first source the name of another file.
type nameError struct{ name string }

func (e *nameError) Error() string {
	return fmt.Sprintf("two sources are called %q; give the one without the entry point another name", e.name)
}

// entryOf returns the name of the first source, without its extension.
func (l Language) entryOf(path string) (string, error) {
	if l.find == nil {
		return l.Entry, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFound))
	if err != nil {
		return "", err
	}
	if found := l.find.FindSubmatch(text); found != nil && entryText().Match(found[1]) {
		return string(found[1]), nil
	}
	return l.Entry, nil
}

// withEnvironment adds the language's environment to a command. prepared is the folder that preparedMark stands for.
func (l Language) withEnvironment(args []string, prepared string) []string {
	if len(l.Environment) == 0 {
		return args
	}
	all := []string{"env"}
	for _, v := range l.Environment {
		all = append(all, strings.ReplaceAll(v, preparedMark, prepared))
	}
	return append(all, args...)
}

// key returns the cache key. It is equal for equal sources that the same compiler compiles with the same command.
func (p plan) key(version string) (string, error) {
	type content struct{ Name, Digest string }
	whole := struct {
		Version, Identity string
		Command           []string
		Artifact          string
		Limits            sandbox.Limits
		Files             []content
	}{Version: version, Identity: p.language.identity(), Command: p.language.withEnvironment(p.command, noPrepared),
		Artifact: p.language.Artifact, Limits: p.language.limits}
	for _, f := range p.files {
		digest, err := digestOf(f.Path)
		if err != nil {
			return "", err
		}
		whole.Files = append(whole.Files, content{f.Name, digest})
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read source: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read source: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
