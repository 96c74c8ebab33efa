package doctor

import (
	"fmt"
	"strings"
)

// Language is a language of sources.
type Language struct {
	ID      string
	Missing string // why this host does not have it; "" if it does
}

// lookLanguages lists the languages. Which of them a host needs only its operator knows.
func lookLanguages(v *view) Outcome {
	if v.options.Languages == nil {
		return skip("compilers and interpreters are looked up below /usr of this host, not of a captured one")
	}
	var available, missing []string
	for _, l := range v.options.Languages {
		if l.Missing == "" {
			available = append(available, l.ID)
		} else {
			missing = append(missing, fmt.Sprintf("%s (%s)", l.ID, l.Missing))
		}
	}
	found := orNone(strings.Join(available, ", "))
	if len(missing) > 0 {
		found += "; missing: " + strings.Join(missing, ", ")
	}
	if len(available) == 0 && len(missing) > 0 {
		return warn(found, "no source can be compiled or interpreted, only programs can be judged")
	}
	return pass(found)
}
