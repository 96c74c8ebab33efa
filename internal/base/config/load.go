package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Load returns the defaults, overridden by the file at path, if that is not empty, and then by the JUDGED_ variables
// of env, which has the form of os.Environ. It does not call Validate, because flags may override settings
// afterwards. Errors name the file and line, or the variable.
func Load(path string, env []string) (Config, error) {
	c := Default()
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return Config{}, fmt.Errorf("read configuration: %w; give an existing file, or none to use the defaults",
				err)
		}
		if err := c.overlayTOML(path, data); err != nil {
			return Config{}, err
		}
	}
	if err := c.overlayEnv(env); err != nil {
		return Config{}, err
	}
	return c, nil
}

func (c *Config) overlayTOML(path string, data []byte) error {
	var document map[string]any
	if err := toml.Unmarshal(data, &document); err != nil {
		if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := syntax.Position()
			return fmt.Errorf("%s:%d: %s; correct the line", path, line, strings.TrimPrefix(syntax.Error(), "toml: "))
		}
		return fmt.Errorf("parse %q: %w; correct the file", path, err)
	}
	if tables, ok := tablesOf(document["pools"]); ok {
		c.Pools = slices.Repeat([]Pool{newPool()}, len(tables))
	}
	if tables, ok := tablesOf(document["tenants"]); ok {
		c.Tenants = slices.Repeat([]Tenant{newTenant()}, len(tables))
	}
	for _, name := range []string{"pools", "tenants"} {
		if list, ok := document[name].([]any); ok && len(list) == 0 {
			delete(document, name)
		}
	}
	known := map[string]key{}
	for _, k := range keys(c) {
		known[k.path] = k
	}
	lines := lineNumbers(data)
	var errs []error
	for _, e := range flatten(nil, "", document) {
		if err := assign(known, e); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %s: %w", path, lineOf(lines, e.path), e.path, err))
		}
	}
	return errors.Join(errs...)
}

type entry struct {
	path  string
	value any
}

// flatten appends the leaves of a document in the order of their paths. An empty table counts as a leaf, so
// that a misspelled section without keys is reported.
func flatten(list []entry, prefix string, table map[string]any) []entry {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if sub, ok := table[name].(map[string]any); ok && len(sub) > 0 {
			list = flatten(list, prefix+name+".", sub)
			continue
		}
		if tables, ok := tablesOf(table[name]); ok {
			for n, sub := range tables {
				list = flatten(list, element(prefix+name, n)+".", sub)
			}
			continue
		}
		list = append(list, entry{path: prefix + name, value: table[name]})
	}
	return list
}

// tablesOf returns the tables of an array of tables.
func tablesOf(value any) ([]map[string]any, bool) {
	list, _ := value.([]any)
	var tables []map[string]any
	for _, v := range list {
		table, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		tables = append(tables, table)
	}
	return tables, len(tables) > 0
}

func assign(known map[string]key, e entry) error {
	if k, ok := known[e.path]; ok {
		return k.setTOML(e.value)
	}
	if _, ok := e.value.(map[string]any); ok && isSection(known, e.path) {
		return nil
	}
	return unknownKey(known, e.path)
}

func isSection(known map[string]key, path string) bool {
	for p := range known {
		if strings.HasPrefix(p, path+".") {
			return true
		}
	}
	return false
}

// unknownKey returns an error that lists the keys of the deepest existing section of path.
func unknownKey(known map[string]key, path string) error {
	section, found := path, false
	for !found && section != "" {
		section = section[:max(strings.LastIndexByte(section, '.'), 0)]
		found = isSection(known, section)
	}
	names := map[string]bool{}
	if section == "" { // arrays of tables without elements have no keys
		names["pools"], names["tenants"] = true, true
	}
	for p := range known {
		if section != "" && !strings.HasPrefix(p, section+".") {
			continue
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(p, section), ".")
		name, _, _ := strings.Cut(rest, ".")
		names[name] = true
	}
	return fmt.Errorf("unknown key; use one of %s", strings.Join(slices.Sorted(maps.Keys(names)), ", "))
}

// lineNumbers returns the line on which each key and table of the document begins. The decoder has positions only for
// syntax errors.
func lineNumbers(data []byte) map[string]int {
	lines := map[string]int{}
	var p unstable.Parser
	p.Reset(data)
	table, elements := "", map[string]int{}
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable && e.Kind != unstable.KeyValue {
			continue
		}
		path, offset := "", -1
		for it := e.Key(); it.Next(); {
			if offset < 0 {
				offset = int(it.Node().Raw.Offset)
			}
			path += "." + string(it.Node().Data)
		}
		path = path[1:]
		switch e.Kind {
		case unstable.KeyValue:
			path = table + path
		case unstable.ArrayTable:
			n := elements[path]
			elements[path]++
			path = element(path, n)
			table = path + "."
		default:
			table = path + "."
		}
		lines[path] = 1 + strings.Count(string(data[:offset]), "\n")
	}
	return lines
}

// lineOf returns the line of path, or of its parent: members of an inline table have no entry.
func lineOf(lines map[string]int, path string) int {
	for path != "" {
		if n, ok := lines[path]; ok {
			return n
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	return 1
}

// overlayEnv applies the variables whose name matches a section. It ignores other JUDGED_ variables, such as
// JUDGED_TOKEN of the client and JUDGED_TEST_REQUIRE.
func (c *Config) overlayEnv(env []string) error {
	known, sections := map[string]key{}, map[string]bool{}
	for _, k := range keys(c) {
		known[k.environment()] = k
		section, _, _ := strings.Cut(k.path, ".")
		sections["JUDGED_"+strings.ToUpper(section)] = true
	}
	var errs []error
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		k, ok := known[name]
		switch {
		case ok && value == "" && k.field.Kind() == reflect.String && k.field.String() != "":
			errs = append(errs, fmt.Errorf("environment variable %s: empty; unset it, or give a value; to clear %s, remove "+
				"it from the configuration file", name, k.path))
		case ok:
			if err := k.setText(value); err != nil {
				errs = append(errs, fmt.Errorf("environment variable %s: %w", name, err))
			}
		case inSection(sections, name):
			errs = append(errs, fmt.Errorf("environment variable %s: unknown key; see configs/judged.toml for the keys, "+
				"or unset it", name))
		}
	}
	return errors.Join(errs...)
}

func inSection(sections map[string]bool, name string) bool {
	for s := range sections {
		if strings.HasPrefix(name, s+"_") {
			return true
		}
	}
	return false
}

// Ignored returns the JUDGED_ variables of env that judged serve does not use: rather misspelled settings. Those of
// clients and tests are not among them.
func Ignored(env []string) []string {
	c := Default()
	known := map[string]bool{"JUDGED_URL": true, "JUDGED_TOKEN": true}
	for _, k := range keys(&c) {
		known[k.environment()] = true
	}
	var all []string
	for _, variable := range env {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "JUDGED_") && !strings.HasPrefix(name, "JUDGED_TEST") && !known[name] {
			all = append(all, name)
		}
	}
	return all
}
