package languages

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"

	"judged/configs"
	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/host/doctor"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
)

// The kinds of results of a compilation.
const (
	artifactProgram = "program"
	artifactSources = "sources"
	artifactJar     = "jar"    // a program whose start class judged determines
	artifactFolder  = "folder" // files, of which runFile is the program
	artifactTree    = "tree"   // the same, with the files of its subfolders
)

// The placeholders of commands.
const (
	sourcesMark  = "{sources}"
	outputMark   = "{output}"
	entryMark    = "{entry}"
	optionsMark  = "{options}"
	programMark  = "{program}"
	preparedMark = "{prepared}"
)

// Language is a way to turn sources into a program. configs/languages.toml describes the members.
type Language struct {
	ID         string   `toml:"-"`
	Name       string   `toml:"name"`
	VariantOf  string   `toml:"variant_of"`
	Extensions []string `toml:"extensions"`
	ByName     bool     `toml:"by_name"`
	Entry      string   `toml:"entry"`
	EntryFind  string   `toml:"entry_find"`
	Compile    []string `toml:"compile"`
	// CompileOptions are the options that jobs may add to Compile.
	CompileOptions []string `toml:"compile_options"`
	Artifact       string   `toml:"artifact"`
	Run            []string `toml:"run"`
	Version        []string `toml:"version"`
	Needs          []string `toml:"needs"`
	Packages       []string `toml:"packages"`
	Environment    []string `toml:"environment"`
	Prepare        []string `toml:"prepare"`
	Empty          string   `toml:"empty"`
	Root           string   `toml:"root"`
	// Factors multiply the limits of its programs.
	Factors api.Factors `toml:"factors"`
	Bounds  Bounds      `toml:"limits"`

	limits sandbox.Limits // parsed Bounds
	find   *regexp.Regexp // parsed EntryFind; nil matches nothing
}

// leavesFolder reports whether compile leaves files in a folder.
func (l Language) leavesFolder() bool {
	return l.Artifact == artifactFolder || l.Artifact == artifactTree
}

// Bounds are the limits of one compilation as written in the file. A missing one takes its default.
type Bounds struct {
	CPUTime   string `toml:"cpu_time"`
	WallTime  string `toml:"wall_time"`
	Memory    string `toml:"memory"`
	Output    string `toml:"output"`
	Processes int    `toml:"processes"`
}

// limits parses the bounds. Errors start with the key.
func (b Bounds) limits() (l sandbox.Limits, err error) {
	for _, x := range []struct {
		key, text, otherwise string
		to                   *time.Duration
	}{{"cpu_time", b.CPUTime, "30s", &l.CPUTime}, {"wall_time", b.WallTime, "60s", &l.WallTime}} {
		*x.to, err = time.ParseDuration(cmp.Or(x.text, x.otherwise))
		if err != nil || *x.to <= 0 {
			return l, fmt.Errorf("limits.%s: %q is not a time above 0; write, for example, \"30s\"", x.key, x.text)
		}
	}
	for _, x := range []struct {
		key, text, otherwise string
		to                   *units.Bytes
	}{{"memory", b.Memory, "2GiB", &l.Memory}, {"output", b.Output, "64MiB", &l.Output}} {
		*x.to, err = units.ParseBytes(cmp.Or(x.text, x.otherwise))
		if err != nil || *x.to <= 0 {
			return l, fmt.Errorf("limits.%s: %q is not a size above 0; write, for example, \"64MiB\"", x.key, x.text)
		}
	}
	if l.Processes = cmp.Or(b.Processes, 256); l.Processes < 0 {
		return l, fmt.Errorf("limits.processes: %d; write a number above 0", l.Processes)
	}
	l.Stack = l.Memory
	return l, nil
}

// Catalogue maps IDs to languages.
type Catalogue map[string]Language

// Load reads a catalogue; the path "" selects the built-in one.
func Load(path string) (Catalogue, error) {
	if path == "" {
		c, err := builtIn()
		return maps.Clone(c), err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read languages: %w; give an existing file as languages.file, or none", err)
	}
	return parse(path, text)
}

// builtIn parses the built-in catalogue, which a command loads several times, once.
var builtIn = sync.OnceValues(func() (Catalogue, error) { return parse("languages.toml", configs.Languages) })

func parse(path string, text []byte) (Catalogue, error) {
	var c Catalogue
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&c)
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		line, _ := unknown.Errors[0].Position()
		return nil, fmt.Errorf("%s:%d: %s: unknown key; the file's head lists the keys", path, line,
			strings.Join(unknown.Errors[0].Key(), "."))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position()
		return nil, fmt.Errorf("%s:%d: %s; correct the line", path, line, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	if err != nil {
		return nil, fmt.Errorf("parse %q: %w; correct the file", path, err)
	}
	var errs []error
	bases := maps.Clone(c)
	for _, id := range slices.Sorted(maps.Keys(c)) {
		l := c[id]
		l.ID = id
		err := l.inherit(bases)
		if err == nil {
			err = l.complete()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s.%w", path, id, err))
		}
		c[id] = l
	}
	return c, errors.Join(errs...)
}

var (
	idText        = text.Pattern(`^[a-z0-9][a-z0-9_+-]{0,31}$`)
	extensionText = text.Pattern(`^\.[A-Za-z0-9+_-]{1,15}$`)
	entryText     = text.Pattern(`^\w{1,64}$`)
	optionText    = text.Pattern(`^-[!-~]{1,99}$`)
	variableText  = text.Pattern(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

// inherit fills in the keys of the language that l is a variant of, as they are in the file.
func (l *Language) inherit(c Catalogue) error {
	if l.VariantOf == "" {
		return nil
	}
	base, known := c[l.VariantOf]
	if !known || base.VariantOf != "" {
		return fmt.Errorf("variant_of: %q is not a language of this file, or is itself a variant; use another one",
			l.VariantOf)
	}
	l.ByName = true
	for _, x := range []struct {
		own  *string
		base string
	}{{&l.Entry, base.Entry}, {&l.EntryFind, base.EntryFind}, {&l.Artifact, base.Artifact}, {&l.Empty, base.Empty},
		{&l.Root, base.Root}} {
		*x.own = cmp.Or(*x.own, x.base)
	}
	for _, x := range []struct {
		own  *[]string
		base []string
	}{{&l.Extensions, base.Extensions}, {&l.Compile, base.Compile}, {&l.Run, base.Run}, {&l.Version, base.Version},
		{&l.Needs, base.Needs}, {&l.Packages, base.Packages}, {&l.Environment, base.Environment},
		{&l.Prepare, base.Prepare}} {
		if *x.own == nil {
			*x.own = x.base
		}
	}
	if l.CompileOptions == nil && slices.Contains(l.Compile, optionsMark) {
		l.CompileOptions = base.CompileOptions
	}
	l.Bounds, l.Factors = cmp.Or(l.Bounds, base.Bounds), l.Factors.Or(base.Factors)
	return nil
}

// complete fills in defaults. Errors start with the wrong key.
func (l *Language) complete() (err error) {
	l.Entry, l.Artifact = cmp.Or(l.Entry, "main"), cmp.Or(l.Artifact, artifactProgram)
	l.Root, l.Name = cmp.Or(l.Root, "private"), cmp.Or(l.Name, l.ID)
	if l.limits, err = l.Bounds.limits(); err != nil {
		return err
	}
	if l.EntryFind != "" {
		if l.find, err = regexp.Compile(l.EntryFind); err != nil || l.find.NumSubexp() == 0 {
			return fmt.Errorf("entry_find: %q is not a regular expression with a group (%v); write one", l.EntryFind, err)
		}
	}
	for _, wrong := range l.Factors.Check() {
		return fmt.Errorf("factors.%s: %s", wrong.Field, wrong.Detail)
	}
	for _, x := range []struct {
		ok   bool
		want string
	}{
		{idText().MatchString(l.ID), "name of the table: use lower-case letters, digits, _, + and -"},
		{l.Extensions != nil && !slices.ContainsFunc(l.Extensions, isNot(extensionText())),
			`extensions: write, for example, [".c"]`},
		{entryText().MatchString(l.Entry), "entry: write a name of letters, digits and _"},
		{len(l.Compile) > 0 && l.Compile[0] != "", "compile: empty; write a command"},
		{slices.Contains([]string{artifactProgram, artifactSources, artifactJar, artifactFolder, artifactTree},
			l.Artifact),
			`artifact: write "program", "sources", "jar", "folder" or "tree"`},
		{l.Artifact == artifactSources || strings.Contains(strings.Join(l.Compile, " "), outputMark),
			"compile: {output} is missing; say where the compiler writes the program"},
		{!slices.ContainsFunc(l.CompileOptions, isNot(optionText())),
			"compile_options: write options such as -O2, of up to 100 characters without spaces"},
		{(len(l.CompileOptions) > 0) == slices.Contains(l.Compile, optionsMark),
			"compile_options: compile says by {options}, as a whole argument, where they go; write both or none of them"},
		{slices.Contains(l.Run, programMark), "run: {program} is missing; say where the program goes"},
		{len(l.Version) > 0 && l.Version[0] != "", "version: empty; write a command"},
		{!slices.ContainsFunc(l.Environment, isNot(variableText())), "environment: write NAME=VALUE"},
		{(len(l.Prepare) > 0) == strings.Contains(strings.Join(l.Environment, " "), preparedMark),
			"prepare: environment says by {prepared} where it writes, and where compile finds that; write both or none " +
				"of them"},
		{l.Root == "private" || l.Root == "host", `root: write "private" or "host"`},
	} {
		if !x.ok {
			return errors.New(x.want)
		}
	}
	return nil
}

func isNot(pattern *regexp.Regexp) func(string) bool {
	return func(s string) bool { return !pattern.MatchString(s) }
}

// ByExtension returns the IDs of the languages whose extensions match path, in order, without those that
// jobs have to name.
func (c Catalogue) ByExtension(path string) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(c)) {
		if !c[id].ByName && c[id].isSource(path) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (l Language) isSource(name string) bool {
	return slices.Contains(l.Extensions, filepath.Ext(name))
}

// lookup finds a program like the sandbox does.
func (l Language) lookup(program string) (path string, found bool) {
	folders := initproc.Path
	for _, v := range l.Environment {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			folders = value
		}
	}
	var paths []string
	for dir := range strings.SplitSeq(folders, ":") {
		paths = append(paths, dir+"/"+program)
	}
	if strings.Contains(program, "/") {
		paths, _ = filepath.Glob(program) // an invalid pattern matches nothing
	}
	i := slices.IndexFunc(paths, initproc.IsProgram)
	if i < 0 {
		return "", false
	}
	return paths[i], true
}

// Missing returns the reason why sources in the language cannot be judged on this host under a root, or "" if they can.
func (l Language) Missing(root string) string {
	if program := l.absent(); program != "" {
		return fmt.Sprintf("%s is not installed; install it below /usr", program)
	}
	if l.Root == "host" && root != "host" || l.Run[0] != programMark && root == "minimal" {
		return fmt.Sprintf("its programs do not run with sandbox.root %q; set it to %q", root, l.Root)
	}
	return ""
}

// absent returns a program that the language needs and this host lacks, or "".
func (l Language) absent() string {
	for _, program := range append([]string{l.Version[0], l.Compile[0], l.Run[0]}, l.Needs...) {
		if _, found := l.lookup(program); !found && program != programMark {
			return program
		}
	}
	return ""
}

// Packages returns the Debian packages of the languages with the given IDs, or of all, that a host lacks, and
// the IDs of those that no package has.
func (c Catalogue) Packages(ids []string) (packages, without []string) {
	for _, id := range slices.Sorted(maps.Keys(c)) {
		l := c[id]
		if len(ids) > 0 && !slices.Contains(ids, id) || l.absent() == "" {
			continue
		}
		if len(l.Packages) == 0 {
			without = append(without, id)
		}
		packages = append(packages, l.Packages...)
	}
	slices.Sort(packages)
	return slices.Compact(packages), without
}

// Factors returns the factors of the languages that have any.
func (c Catalogue) Factors() map[string]api.Factors {
	all := map[string]api.Factors{}
	for id, l := range c {
		if l.Factors != (api.Factors{}) {
			all[id] = l.Factors
		}
	}
	return all
}

// OnHost returns which languages this host has under a root, in the order of their IDs.
func (c Catalogue) OnHost(root string) []doctor.Language {
	list := make([]doctor.Language, 0, len(c))
	for _, id := range slices.Sorted(maps.Keys(c)) {
		list = append(list, doctor.Language{ID: id, Missing: c[id].Missing(root)})
	}
	return list
}

// command fills in the placeholders. lists replace whole arguments.
func command(args []string, lists map[string][]string, values map[string]string) []string {
	var filled []string
	for _, a := range args {
		if list, ok := lists[a]; ok {
			filled = append(filled, list...)
			continue
		}
		for mark, value := range values {
			a = strings.ReplaceAll(a, mark, value)
		}
		filled = append(filled, a)
	}
	return filled
}
