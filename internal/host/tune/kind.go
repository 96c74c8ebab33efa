package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"judged/internal/host/hostfs"
	"judged/internal/host/settings"
)

// The kinds of places that are not plain files.
const (
	// whether cpuset is enabled for child groups: "+cpuset" or "-cpuset", in the syntax of a write
	controller settings.Kind = "controller"
	partition  settings.Kind = "partition" // a group that is created, with its type and CPUs; "" if missing
	affinity   settings.Kind = "affinity"  // the CPUs of a thread, set with a system call
	// a swap area: "on, priority 5", "on" if the kernel chose the priority, or "off"; set with system calls
	area settings.Kind = "area"
)

func kinds() []settings.Kind {
	return []settings.Kind{settings.Word, settings.Token, settings.List, settings.Mask, controller, partition, affinity,
		area}
}

// value reads the current value at the place of an entry.
func value(h hostfs.FS, e entry) (string, error) {
	switch e.Kind {
	case affinity:
		return readAffinity(h, e)
	case partition:
		return readPartition(h, e.Path)
	case area:
		return readArea(h, e.Path)
	}
	text, err := h.Read(e.Path)
	if err != nil {
		return "", err
	}
	if e.Kind == controller {
		if slices.Contains(strings.Fields(text), "cpuset") {
			return "+cpuset", nil
		}
		return "-cpuset", nil
	}
	meaning, err := e.Kind.Meaning(text)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", e.Path, err)
	}
	return meaning, nil
}

// checkValue reports whether a value can have been read from a place of the kind.
func checkValue(k settings.Kind, value string) error {
	if len(value) > maxValueBytes || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) {
		return fmt.Errorf("%.40q is too long or holds unprintable characters", value)
	}
	switch k {
	case settings.List, settings.Mask, affinity:
		_, err := k.Set(value)
		return err
	case settings.Token:
		if value == "" || strings.ContainsAny(value, " []") {
			return fmt.Errorf("%q is not one word", value)
		}
	case controller:
		if value != "+cpuset" && value != "-cpuset" {
			return fmt.Errorf("%q is neither +cpuset nor -cpuset", value)
		}
	case partition:
		word, _, _ := strings.Cut(value, " ")
		if !slices.Contains([]string{"", "member", "root", "isolated"}, word) {
			return fmt.Errorf("invalid partition type %q", value)
		}
	case area:
		_, _, err := parseArea(value)
		return err
	}
	return nil
}

// cause returns an error without its path, which the report shows separately.
func cause(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
