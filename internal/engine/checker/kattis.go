package checker

import (
	"bytes"
	"fmt"
)

// parseKattis parses the flags of the default output validator of ICPC and Kattis packages.
func parseKattis(_ string, flags []string) (comparison, error) {
	t := ignoreCase
	if err := t.setFlags(flags); err != nil {
		return nil, err
	}
	return t.compare, nil
}

// setFlags sets what the flags say.
func (t *tokens) setFlags(flags []string) error {
	var numbers tolerance
	compareNumbers := false
	for i := 0; i < len(flags); i++ {
		switch flag := flags[i]; flag {
		case "case_sensitive":
			t.same, t.prefix = bytes.Equal, prefix
		case "space_change_sensitive":
			t.spaces = true
		case "float_tolerance", "float_absolute_tolerance", "float_relative_tolerance":
			if i++; i == len(flags) {
				return fmt.Errorf("flag %s has no number after it; add one such as 1e-6", flag)
			}
			e, err := parseEpsilon(flags[i])
			if err != nil {
				return fmt.Errorf("flag %s: %w", flag, err)
			}
			compareNumbers = true
			if flag != "float_relative_tolerance" {
				numbers.absolute = e
			}
			if flag != "float_absolute_tolerance" {
				numbers.relative = e
			}
		default:
			return fmt.Errorf("unknown flag %q: use case_sensitive, space_change_sensitive, float_tolerance EPS, "+
				"float_absolute_tolerance EPS or float_relative_tolerance EPS", flag)
		}
	}
	if compareNumbers {
		numbers.text = t.same
		t.same = numbers.same
	}
	return nil
}
