package judgehost

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"judged/internal/base/text"
)

// stringOrNumber is a value that the server sends as a string or a number.
type stringOrNumber string

func (t *stringOrNumber) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.Equal(b, []byte("null")):
		*t = ""
	case len(b) > 0 && b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*t = stringOrNumber(s)
	default:
		var n json.Number
		if err := json.Unmarshal(b, &n); err != nil {
			return err
		}
		*t = stringOrNumber(n.String())
	}
	return nil
}

// number is a number that the server may also send as a string.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	var t stringOrNumber
	if err := t.UnmarshalJSON(b); err != nil || t == "" {
		return err
	}
	f, err := strconv.ParseFloat(string(t), 64)
	if err != nil {
		return fmt.Errorf("%q is not a number", string(t))
	}
	*n = number(f)
	return nil
}

// The most that a limit may be, so that sums of limits in nanoseconds and bytes fit into an integer.
const (
	maxSeconds = 1e5
	maxKB      = 1 << 40
	maxCount   = 1 << 20
)

// isTime reports whether a number is usable as a limit in seconds, isCount as one of whole things. NaN is not.
func (n number) isTime() bool { return 0 < n && n <= maxSeconds }

func (n number) isCount(most float64) bool { return 1 <= n && float64(n) <= most }

// flag is a boolean that the server may also send as 0 or 1.
type flag bool

func (f *flag) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true", "1", `"1"`:
		*f = true
	case "false", "0", `"0"`, `""`, "null":
		*f = false
	default:
		return fmt.Errorf("%s is not a boolean", b)
	}
	return nil
}

// The types of tasks.
const (
	typeRun      = "judging_run"
	typePrefetch = "prefetch"
	typeDebug    = "debug_info"
	typeAgain    = "try_again"
)

// task is a judge task: one test of one submission.
type task struct {
	ID            stringOrNumber `json:"judgetaskid"`
	Type          string         `json:"type"`
	Job           stringOrNumber `json:"jobid"`
	UUID          stringOrNumber `json:"uuid"`
	Submission    stringOrNumber `json:"submitid"`
	Contest       stringOrNumber `json:"contestid"`
	CompileScript stringOrNumber `json:"compile_script_id"`
	RunScript     stringOrNumber `json:"run_script_id"`
	CompareScript stringOrNumber `json:"compare_script_id"`
	Testcase      stringOrNumber `json:"testcase_id"`
	TestcaseHash  stringOrNumber `json:"testcase_hash"`
	Pass          stringOrNumber `json:"pass"`
	CompileText   string         `json:"compile_config"`
	RunText       string         `json:"run_config"`
	CompareText   string         `json:"compare_config"`

	compile compileConfig
	run     runConfig
	compare compareConfig
	unread  error // why it was not decoded
}

type compileConfig struct {
	TimeLimit  number   `json:"script_timelimit"`
	Memory     number   `json:"script_memory_limit"`
	FileSize   number   `json:"script_filesize_limit"`
	Extensions []string `json:"language_extensions"`
	Filter     flag     `json:"filter_compiler_files"`
	Hash       string   `json:"hash"`
}

type runConfig struct {
	TimeLimit  number         `json:"time_limit"` // seconds
	Memory     number         `json:"memory_limit"`
	Output     number         `json:"output_limit"`
	Processes  number         `json:"process_limit"`
	EntryPoint stringOrNumber `json:"entry_point"`
	Passes     number         `json:"pass_limit"`
	Overshoot  number         `json:"overshoot"`
	Hash       string         `json:"hash"`
}

type compareConfig struct {
	Args     stringOrNumber `json:"compare_args"`
	Combined flag           `json:"combined_run_compare"`
	Scoring  flag           `json:"is_scoring_problem"`
	Hash     string         `json:"hash"`
}

// Patterns of IDs. They become parts of paths and URLs.
var (
	numericID = text.Pattern(`^[0-9]{1,20}$`)
	wordID    = text.Pattern(`^[A-Za-z0-9_.-]{1,255}$`)
	md5Hex    = text.Pattern(`^[0-9a-f]{32}$`)
)

// decode decodes the JSON documents that a task contains as strings, and checks the required members.
func (t *task) decode() error {
	if t.unread != nil {
		return fmt.Errorf("read a judge task: %w", t.unread)
	}
	for _, c := range []struct {
		name, text string
		to         any
	}{{"compile_config", t.CompileText, &t.compile}, {"run_config", t.RunText, &t.run},
		{"compare_config", t.CompareText, &t.compare}} {
		if c.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(c.text), c.to); err != nil {
			return fmt.Errorf("read %s of judge task %s: %w", c.name, t.ID, err)
		}
	}
	for name, id := range map[string]stringOrNumber{"judgetaskid": t.ID, "jobid": t.Job, "pass": t.Pass,
		"compile_script_id": t.CompileScript, "run_script_id": t.RunScript, "compare_script_id": t.CompareScript,
		"testcase_id": t.Testcase} {
		if id != "" && !numericID().MatchString(string(id)) {
			return fmt.Errorf("read %s of judge task %q: %q is not a number", name, string(t.ID), string(id))
		}
	}
	if t.ID == "" {
		return errors.New("read a judge task: judgetaskid is missing")
	}
	return nil
}

// checkRun checks the members that a task of type typeRun needs.
func (t *task) checkRun() error {
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"jobid", t.Job != ""},
		{"submitid", wordID().MatchString(string(t.Submission)) && t.Submission != "." && t.Submission != ".."},
		{"contestid", wordID().MatchString(string(t.Contest)) && t.Contest != "." && t.Contest != ".."},
		{"testcase_id", t.Testcase != ""},
		{"testcase_hash", t.TestcaseHash != ""},
		{"compile_script_id", t.CompileScript != ""},
		{"run_script_id", t.RunScript != ""},
		{"compare_script_id", t.CompareScript != "" || bool(t.compare.Combined)},
		{"compile_config.filter_compiler_files", given(t.CompileText, "filter_compiler_files")},
		{"compile_config.language_extensions", len(t.compile.Extensions) > 0 || !bool(t.compile.Filter)},
		{"compare_config.combined_run_compare", given(t.CompareText, "combined_run_compare")},
		{"compile_config.hash", md5Hex().MatchString(t.compile.Hash)},
		{"run_config.hash", md5Hex().MatchString(t.run.Hash)},
		{"compare_config.hash", md5Hex().MatchString(t.compare.Hash) || bool(t.compare.Combined)},
		{"run_config.time_limit", t.run.TimeLimit.isTime()},
		{"run_config.overshoot", t.run.Overshoot == 0 || t.run.Overshoot.isTime()},
		{"run_config.memory_limit", t.run.Memory.isCount(maxKB)},
		{"run_config.output_limit", t.run.Output.isCount(maxKB)},
		{"run_config.process_limit", t.run.Processes.isCount(maxCount)},
		{"run_config.pass_limit", t.run.Passes == 0 || t.run.Passes.isCount(maxCount)},
		{"compile_config.script_timelimit", t.compile.TimeLimit.isTime()},
		{"compile_config.script_memory_limit", t.compile.Memory.isCount(maxKB)},
		{"compile_config.script_filesize_limit", t.compile.FileSize.isCount(maxKB)},
	} {
		if !c.ok {
			return fmt.Errorf("read %s of judge task %s: missing or invalid; judged supports the protocol of DOMjudge 8.3 "+
				"to 10, see deploy/DOMJUDGE.md", c.name, t.ID)
		}
	}
	return nil
}

// given reports whether a config has a member.
func given(config, member string) bool {
	var all map[string]json.RawMessage
	return json.Unmarshal([]byte(config), &all) == nil && all[member] != nil && string(all[member]) != "null"
}

// sameJob reports whether two tasks are about the same program.
func sameJob(a, b task) bool {
	return a.Job == b.Job && a.UUID == b.UUID && a.Submission == b.Submission && a.Contest == b.Contest &&
		a.CompileScript == b.CompileScript && a.CompileText == b.CompileText
}

// Config holds the settings of the server that a judgehost uses.
type Config struct {
	DiskSpace       number `json:"diskspace_error"`       // kB
	OutputStorage   number `json:"output_storage_limit"`  // bytes, -1 is unlimited
	Overshoot       string `json:"timelimit_overshoot"`   // such as 1s|10%
	ScriptTimeLimit number `json:"script_timelimit"`      // seconds
	ScriptMemory    number `json:"script_memory_limit"`   // kB
	ScriptFileSize  number `json:"script_filesize_limit"` // kB
}

// missing stands for a setting that may be 0 and is missing.
const missing = -2

// UnmarshalJSON implements json.Unmarshaler.
func (c *Config) UnmarshalJSON(b []byte) error {
	type plain Config
	p := plain{DiskSpace: missing, OutputStorage: missing}
	err := json.Unmarshal(b, &p)
	*c = Config(p)
	return err
}

// configPath is the path of the settings, which do not depend on a task.
const configPath = "config"

// Config fetches the settings of the server.
func (c *Client) Config(ctx context.Context) (Config, error) {
	got, err := get[Config](ctx, c, request{path: configPath, limit: smallAnswer})
	if err != nil {
		return got, err
	}
	if got.DiskSpace != 0 && !got.DiskSpace.isCount(maxKB) || !(-1 <= got.OutputStorage && got.OutputStorage <= maxKB) {
		return got, errors.New("read config: diskspace_error or output_storage_limit is missing or not usable")
	}
	if _, err := overshoot(1, got.Overshoot); err != nil {
		return got, err
	}
	if !got.ScriptTimeLimit.isTime() || !got.ScriptMemory.isCount(maxKB) ||
		!got.ScriptFileSize.isCount(maxKB) {
		return got, errors.New("read config: script_timelimit, script_memory_limit or script_filesize_limit is missing " +
			"or not usable")
	}
	return got, nil
}

// language is a language of the server with the extensions of its files.
type language struct {
	ID         string   `json:"id"`
	Extensions []string `json:"extensions"`
}

func (c *Client) languages(ctx context.Context) ([]language, error) {
	return get[[]language](ctx, c, request{path: "languages", limit: smallAnswer})
}

// unfinished is a job that the host has returned.
type unfinished struct {
	Job        stringOrNumber `json:"jobid"`
	Submission stringOrNumber `json:"submitid"`
}

// register registers a host and returns all of its unfinished jobs to the server.
func (c *Client) register(ctx context.Context, host string) ([]unfinished, error) {
	return get[[]unfinished](ctx, c, request{method: http.MethodPost, path: "judgehosts",
		form: url.Values{"hostname": {host}}, limit: smallAnswer, tries: 1})
}

// fetchWork asks for tasks once. If the request fails, the server may still have assigned tasks.
func (c *Client) fetchWork(ctx context.Context, host string) ([]task, error) {
	all, err := get[[]json.RawMessage](ctx, c, request{method: http.MethodPost, path: "judgehosts/fetch-work",
		form: url.Values{"hostname": {host}}, limit: mediumAnswer, tries: 1})
	tasks := make([]task, len(all))
	for i, one := range all {
		tasks[i].unread = json.Unmarshal(one, &tasks[i])
	}
	return tasks, err
}

// enabled reports whether the server assigns work to a host.
func (c *Client) enabled(ctx context.Context, host string) (bool, error) {
	hosts, err := get[[]struct {
		Hostname string `json:"hostname"`
		Enabled  flag   `json:"enabled"`
	}](ctx, c, request{path: "judgehosts", limit: mediumAnswer, tries: 1})
	for _, h := range hosts {
		if h.Hostname == host {
			return bool(h.Enabled), nil
		}
	}
	if err == nil {
		err = fmt.Errorf("the server does not list judgehost %q; restart judged to register it", host)
	}
	return false, err
}

// versionCommands are shell scripts; an empty one means that the server has none.
type versionCommands struct {
	Compiler string `json:"compiler_version_command"`
	Runner   string `json:"runner_version_command"`
}

func (c *Client) versionCommands(ctx context.Context, t stringOrNumber) (v versionCommands, err error) {
	raw, err := get[json.RawMessage](ctx, c, request{path: "judgehosts/get_version_commands/" + string(t),
		limit: smallAnswer})
	if err == nil && !bytes.Equal(bytes.TrimSpace(raw), []byte("[]")) { // PHP writes an empty object as []
		err = json.Unmarshal(raw, &v)
	}
	return v, err
}

func (c *Client) checkVersions(ctx context.Context, t stringOrNumber, form url.Values) error {
	return c.send(ctx, request{method: http.MethodPut, path: "judgehosts/check_versions/" + string(t), form: form})
}

func (c *Client) updateJudging(ctx context.Context, host string, t stringOrNumber, form url.Values) error {
	return c.send(ctx, request{method: http.MethodPut,
		path: "judgehosts/update-judging/" + url.PathEscape(host) + "/" + string(t), form: form, tries: reportTries})
}

// reportTries is the maximum number of times that a result is sent.
const reportTries = 5

// addRun reports a run and returns whether the server needs more results of its judging.
func (c *Client) addRun(ctx context.Context, host string, t stringOrNumber, form url.Values) (more bool, err error) {
	answer, err := get[flag](ctx, c, request{method: http.MethodPost,
		path: "judgehosts/add-judging-run/" + url.PathEscape(host) + "/" + string(t), form: form, limit: smallAnswer,
		tries: reportTries})
	return bool(answer), err
}

func (c *Client) addDebugInfo(ctx context.Context, host string, t stringOrNumber, form url.Values) error {
	return c.send(ctx, request{method: http.MethodPost,
		path: "judgehosts/add-debug-info/" + url.PathEscape(host) + "/" + string(t), form: form, tries: reportTries})
}

// internalError reports a fault and returns the number of the internal error. It is "" if the server has none, because
// the script has been replaced meanwhile.
func (c *Client) internalError(ctx context.Context, form url.Values) (number string, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: "judgehosts/internal-error", form: form, limit: smallAnswer,
		tries: reportTries, take: func(in io.Reader) error {
			body, err := io.ReadAll(in)
			if err != nil || len(bytes.TrimSpace(body)) == 0 {
				return err
			}
			var found stringOrNumber
			err = json.Unmarshal(body, &found)
			number = string(found)
			return err
		}})
	return number, err
}

// encoded encodes a binary value for a form.
func encoded(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
