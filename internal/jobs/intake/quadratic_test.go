package intake

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
)

// TestCheckIsLinear checks that the time for a job does not grow with the square of its size: some members have many
// entries, or long names.
func TestCheckIsLinear(t *testing.T) {
	many := func(entry func(i int) string) string {
		list := make([]string, maxMembers)
		for i := range list {
			list[i] = entry(i)
		}
		return strings.Join(list, ",")
	}
	name := strings.Repeat("a/", 1<<20) + "a"
	for member, body := range map[string]string{
		"collect": `{"collect": [` + many(func(i int) string { return fmt.Sprintf("%q", fmt.Sprintf("file%06d.txt", i)) }) + `]}`,
		"checker arguments": `{"checker": {"kind": "kattis", "args": [` + many(func(int) string { return `"case_sensitive"` }) +
			`]}, "tests": [` + many(func(i int) string { return fmt.Sprintf(`{"name": "%d", "checker_args": ["case_sensitive"]}`, i) }) + `]}`,
		"arguments": `{"command": [` + many(func(int) string { return `""` }) +
			`], "tests": [` + many(func(i int) string { return fmt.Sprintf(`{"name": "%d", "args": [""]}`, i) }) + `]}`,
		"files":           `{"files": {"` + name + `": {"text": ""}}}`,
		"files of a test": `{"tests": [{"name": "1", "files": {"` + name + `": {"text": ""}}}]}`,
		"many files": `{"files": {` + many(func(i int) string { return fmt.Sprintf(`"d%d/e/f": {"text": ""}`, i) }) +
			`}, "tests": [` + strings.Repeat(`{"name": "1", "files": {"a": {"text": ""}}},`, 20_000) + `{"name": "2"}]}`,
		"compile options": `{"language": "c", "compile_options": [` + many(func(i int) string { return fmt.Sprintf(`"-%d"`, i) }) + `]}`,
		"tests":           `{"tests": [` + many(func(i int) string { return fmt.Sprintf(`{"name": "%d"}`, i) }) + `]}`,
		"labels":          `{"labels": {` + many(func(i int) string { return fmt.Sprintf(`"k%d": "v"`, i) }) + `}}`,
		"env":             `{"env": {` + many(func(i int) string { return fmt.Sprintf(`"k%d": "v"`, i) }) + `}}`,
		"checker":         `{"checker": {"kind": "tokens", "args": [` + many(func(i int) string { return fmt.Sprintf(`"%d"`, i) }) + `]}}`,
	} {
		t.Run(member, func(t *testing.T) {
			t.Parallel()
			var j api.Job
			if err := json.Unmarshal([]byte(body), &j); err != nil {
				t.Fatal(err)
			}
			done := make(chan time.Duration, 1)
			go func() {
				begun := time.Now()
				_ = Check(config.Default(), j)
				_ = CheckRoom(j, 1<<40, func(api.File) (units.Bytes, error) { return 1, nil })
				done <- time.Since(begun)
			}()
			select {
			case took := <-done:
				t.Logf("%d bytes took %v", len(body), took)
			case <-time.After(20 * time.Second):
				t.Errorf("%d bytes take more than 20 s", len(body))
			}
		})
	}
}
