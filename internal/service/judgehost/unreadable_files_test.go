package judgehost

import (
	"fmt"
	"strings"
	"testing"

	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// TestUnreadableFiles: files that judged cannot decode are a fault of what they belong to.
func TestUnreadableFiles(t *testing.T) {
	for call, kind := range map[string]string{"testcase": "testcase", "compile": "compile_script", "run": "run_script",
		"compare": "compare_script"} {
		for name, change := range map[string]func(string) string{
			"no base64": func(s string) string { return strings.Replace(s, `"content":"`, `"content":"!`, 1) },
			"part of base64": func(s string) string {
				return strings.Replace(s, `"content":"`, `"content":"A","x":"`, 1)
			},
			"long name": func(s string) string {
				return strings.Replace(s, `"filename":"`, `"filename":"`+strings.Repeat("a", maxShort), 1)
			},
			"name with NUL": func(s string) string { return strings.Replace(s, `"filename":"`, `"filename":"\u0000`, 1) },
			"wrong escape":  func(s string) string { return strings.Replace(s, `"filename":"`, `"filename":"\x`, 1) },
			"nested": func(s string) string {
				return strings.Replace(s, `"filename":`, `"x":{"y":1},"filename":`, 1)
			},
			"trailing data": func(s string) string { return s + "[]" },
		} {
			w := newWorld(t)
			w.Fault = func(_, path string) *domserver.Fault {
				if strings.HasPrefix(path, "judgehosts/get_files/"+call+"/") {
					return &domserver.Fault{Handle: true, Corrupt: change}
				}
				return nil
			}
			w.submit(w.problem("1"), "")
			stop := w.start(newFakeEngine(1))
			testkit.WaitFor(t, patience, fmt.Sprintf("%s of %s", name, call), func() bool { return len(w.Errors()) > 0 })
			stop()
			if e := w.Errors()[0]; e.Kind != kind {
				t.Errorf("%s: %s: internal error %+v, want kind %s", call, name, e, kind)
			}
		}
	}
}
