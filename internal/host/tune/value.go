package tune

import (
	"fmt"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
)

// kind is how the kernel shows a value. What is compared is the meaning and not the bytes: it prints
// masks with zeros in front, tokens among others, and lines with or without an end.
type kind string

const (
	word       kind = "word"       // the whole content
	token      kind = "token"      // the one in brackets; only that may be written, the whole line is EINVAL
	list       kind = "list"       // CPUs as 0-3,7
	mask       kind = "mask"       // CPUs as a hex mask
	controller kind = "controller" // whether cpuset is handed down: "+cpuset" or "-cpuset", as it is written
	partition  kind = "partition"  // a group that is made, with its type and CPUs; "" where there is none
	affinity   kind = "affinity"   // the CPUs of a thread, set by a system call
	area       kind = "area"       // of swap: "on, priority 5", "on" where the kernel chose it, or "off"; set by system calls
)

func kinds() []kind { return []kind{word, token, list, mask, controller, partition, affinity, area} }

// meaning is what a file's content says.
func (k kind) meaning(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch k {
	case token:
		for w := range strings.FieldsSeq(text) {
			if len(w) > 2 && w[0] == '[' && w[len(w)-1] == ']' {
				return w[1 : len(w)-1], nil
			}
		}
		return "", fmt.Errorf("read %q: no word stands in brackets", text)
	case list, affinity:
		set, err := k.set(text)
		return set.String(), err
	case mask:
		set, err := k.set(text)
		return set.Mask(), err
	case controller:
		if slices.Contains(strings.Fields(text), "cpuset") {
			return "+cpuset", nil
		}
		return "-cpuset", nil
	}
	return text, nil
}

// set are the CPUs of a list or a mask.
func (k kind) set(text string) (cpuset.Set, error) {
	if k == mask {
		text = "0x" + text
	}
	return cpuset.Parse(text)
}
