package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
)

// key is one setting: its dotted path and its field.
type key struct {
	path  string
	field reflect.Value
}

// keys returns the settings of c in the order of the struct.
func keys(c *Config) []key {
	return appendKeys(nil, "", reflect.ValueOf(c).Elem())
}

func appendKeys(list []key, prefix string, section reflect.Value) []key {
	for i := range section.NumField() {
		path := prefix + section.Type().Field(i).Tag.Get("toml")
		field := section.Field(i)
		if field.Kind() == reflect.Struct {
			list = appendKeys(list, path+".", field)
			continue
		}
		if isTables(field) {
			for n := range field.Len() {
				list = appendKeys(list, element(path, n)+".", field.Index(n))
			}
			continue
		}
		list = append(list, key{path: path, field: field})
	}
	return list
}

// isTables reports whether a field is an array of tables, such as [[pools]]. Such fields have no environment
// variables.
func isTables(field reflect.Value) bool {
	return field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct
}

// element returns the path of element n of an array of tables.
func element(path string, n int) string { return fmt.Sprintf("%s[%d]", path, n) }

// environment returns the name of the environment variable, such as JUDGED_HTTP_MAX_BODY.
func (k key) environment() string {
	return "JUDGED_" + strings.ToUpper(strings.ReplaceAll(k.path, ".", "_"))
}

// setText sets the key from text. An empty duration or size means 0; Validate rejects 0 where it has no
// meaning.
func (k key) setText(text string) error {
	switch p := k.field.Addr().Interface().(type) {
	case *bool:
		return parse(p, text, "true or false", strconv.ParseBool)
	case *int:
		return parse(p, text, "a whole number", strconv.Atoi)
	case *time.Duration:
		return parse(p, text, `a duration with its unit, such as "2s" or "720h"`, parseDuration)
	case *units.Bytes:
		return parse(p, text, `a size with its unit, such as "64MiB"`, parseBytes)
	case *cpuset.Set:
		return parse(p, text, `CPUs as "2-3,7" or a mask as "0x8c"`, cpuset.Parse)
	case *[]string:
		*p = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
		return nil
	}
	if k.field.Kind() != reflect.String {
		return fmt.Errorf("no parser for type %s", k.field.Type())
	}
	k.field.SetString(text)
	return nil
}

// setTOML sets the key from a TOML value. Only counts may be numbers: durations and sizes need a unit.
func (k key) setTOML(value any) error {
	switch v := value.(type) {
	case string:
		if k.field.Kind() == reflect.Int || k.field.Kind() == reflect.Bool {
			return fmt.Errorf("%q is text; write %s without quotes", v, k.field.Kind())
		}
		return k.setText(v)
	case []any:
		if list, ok := texts(v); ok && k.field.Kind() == reflect.Slice {
			if p, ok := k.field.Addr().Interface().(*[]string); ok {
				*p = list
				return nil
			}
		}
	case bool:
		if k.field.Kind() == reflect.Bool {
			k.field.SetBool(v)
			return nil
		}
	case int64:
		if k.field.Kind() == reflect.Int {
			k.field.SetInt(v)
			return nil
		}
	}
	return fmt.Errorf("%v does not fit; write %s", value, k.example())
}

// texts returns the elements of an array of texts.
func texts(array []any) (list []string, ok bool) {
	list = make([]string, len(array))
	for i, v := range array {
		if list[i], ok = v.(string); !ok {
			return nil, false
		}
	}
	return list, true
}

// example describes a valid value in the syntax of the file.
func (k key) example() string {
	switch k.field.Interface().(type) {
	case bool:
		return "true or false"
	case int:
		return "a whole number"
	case time.Duration:
		return `a duration with its unit in quotes, such as "2s"`
	case units.Bytes:
		return `a size with its unit in quotes, such as "64MiB"`
	case cpuset.Set:
		return `CPUs in quotes, such as "2-3"`
	case []string:
		return `a list of texts, such as ["a", "b"]`
	}
	return "text in quotes"
}

func parse[T any](p *T, text, wanted string, parser func(string) (T, error)) error {
	v, err := parser(text)
	if err != nil {
		return fmt.Errorf("%w; write %s", err, wanted)
	}
	*p = v
	return nil
}

func parseDuration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return time.ParseDuration(text)
}

func parseBytes(text string) (units.Bytes, error) {
	if text == "" {
		return 0, nil
	}
	return units.ParseBytes(text)
}
