package text

import (
	"regexp"
	"sync"
)

// Pattern returns a regular expression that is compiled when it is first used, and panics then if it is wrong. Most
// commands use few of them, and compiling all took a third of the time of judged version.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
