package domserver

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func (s *Server) after(d time.Duration) <-chan time.Time { return time.After(d) }

// task returns a task of any type.
func (s *Server) task(id string) (*Task, error) {
	n, err := strconv.Atoi(id)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(s.extra)
	for _, j := range s.judgings {
		all = append(all, j.Tasks...)
	}
	for _, t := range all {
		if t.ID == n {
			return t, nil
		}
	}
	return nil, fmt.Errorf("unknown judge task %s", id)
}

// owned returns a task that is assigned to a host.
func (s *Server) owned(host, id string) (*Task, error) {
	t, err := s.task(id)
	switch {
	case err != nil:
		return nil, err
	case t.host != host:
		return nil, fmt.Errorf("judge task %s is %q's, not %q's", id, t.host, host)
	}
	return t, nil
}

func (s *Server) getFiles(kind string, ids []string) (any, error) {
	if kind == "source" {
		if len(ids) != 2 || ids[0] != "demo" {
			return nil, fmt.Errorf("sources of %q", ids)
		}
		n, err := strconv.Atoi(ids[1])
		if err != nil || s.find(n) == nil {
			return nil, fmt.Errorf("no submission %s", ids[1])
		}
		return documents(s.find(n).Submission.Files), nil
	}
	n, err := strconv.Atoi(ids[0])
	if err != nil || len(ids) != 1 {
		return nil, fmt.Errorf("files of %q", ids)
	}
	switch kind {
	case "testcase":
		if c, ok := s.cases[n]; ok {
			return documents([]File{{"input", c.Input, false}, {"output", c.Output, false}}), nil
		}
	case "compile", "run", "compare", "debug":
		if e, ok := s.execs[n]; ok {
			return documents(e.Files), nil
		}
	}
	return nil, &refused{status: http.StatusNotFound, message: fmt.Sprintf("no files of %s %d", kind, n)}
}

// document is a file in the form for judgehosts.
type document struct {
	Name    string `json:"filename"`
	Content string `json:"content"`
	Exec    bool   `json:"is_executable"`
}

func documents(files []File) (list []document) {
	for _, f := range files {
		list = append(list, document{f.Name, base64.StdEncoding.EncodeToString([]byte(f.Content)), f.Exec})
	}
	return list
}

func (s *Server) versionCommands(id string) (any, error) {
	t, err := s.task(id)
	if err != nil {
		return nil, err
	}
	l, said := t.judging.Submission.Language, map[string]string{}
	if l.CompilerVersion != "" {
		said["compiler_version_command"] = l.CompilerVersion
	}
	if l.RunnerVersion != "" {
		said["runner_version_command"] = l.RunnerVersion
	}
	if len(said) == 0 {
		return []string{}, nil // PHP writes an empty object like this
	}
	return said, nil
}

func (s *Server) checkVersions(id string, form url.Values) (any, error) {
	if err := fields(form, "hostname", "compiler runner"); err != nil {
		return nil, err
	}
	host := form.Get("hostname")
	t, err := s.owned(host, id)
	if err != nil {
		return nil, err
	}
	values, err := decoded(form, "compiler runner")
	if err != nil {
		return nil, err
	}
	s.versions[t.judging.ID] = values
	if want := t.judging.Submission.Language.WantedVersion; want != "" && want != values["compiler"] {
		s.hosts[host] = false
		s.giveBack(t.judging, host)
		return nil, &refused{http.StatusBadRequest, "compiler version mismatch", true}
	}
	return []string{}, nil
}

func (s *Server) updateJudging(host, id string, form url.Values) (any, error) {
	if err := fields(form, "compile_success output_compile", "compile_metadata entry_point"); err != nil {
		return nil, err
	}
	t, err := s.owned(host, id)
	if err != nil {
		return nil, err
	}
	values, err := decoded(form, "output_compile compile_metadata")
	if err != nil {
		return nil, err
	}
	success := map[string]bool{"1": true, "0": false, "": false}
	ok, known := success[values["compile_success"]]
	if !known {
		return nil, fmt.Errorf("compile_success %q", values["compile_success"])
	}
	if err := column("entry_point", values["entry_point"]); err != nil {
		return nil, err
	}
	j := t.judging
	for _, c := range j.Compiled {
		if c.Success != ok {
			return nil, errors.New("compilation results are different")
		}
	}
	j.Compiled = append(j.Compiled, Compiled{host, values["entry_point"], values["output_compile"],
		values["compile_metadata"], ok})
	if !ok {
		j.Result = compilerError
		s.invalidate(j)
	}
	return nil, nil
}

// column checks a text that the server stores in a column of 255 characters: its database refuses others, with 500.
func column(name, value string) error {
	const longest = 255
	if !utf8.ValidString(value) || utf8.RuneCountInString(value) > longest {
		return fmt.Errorf("%s %q does not fit into the database", name, value)
	}
	return nil
}

func (s *Server) invalidate(j *Judging) {
	for _, t := range j.Tasks {
		t.valid = false
	}
}

var (
	decimal  = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	results  = strings.Fields("correct wrong-answer no-output timelimit run-error output-limit memory-limit")
	metaLine = regexp.MustCompile(`^[a-z0-9-]+: ?.*$`)
)

// checkMeta checks lines of KEY: VALUE.
func checkMeta(name, meta, required string) error {
	found := map[string]bool{}
	for line := range strings.Lines(meta) {
		line = strings.TrimSuffix(line, "\n")
		if !metaLine.MatchString(line) {
			return fmt.Errorf("%s: line %q", name, line)
		}
		key, _, _ := strings.Cut(line, ":")
		if found[key] {
			return fmt.Errorf("%s: two lines %s", name, key)
		}
		found[key] = true
	}
	for _, key := range strings.Fields(required) {
		if !found[key] {
			return fmt.Errorf("%s: no %s", name, key)
		}
	}
	return nil
}

const binaryFields = "output_run output_diff output_error output_system metadata compare_metadata team_message score"

func (s *Server) addRun(host, id string, form url.Values) (any, error) {
	if err := fields(form, "runresult runtime output_run output_diff output_error output_system start_time end_time "+
		"metadata", "compare_metadata testcasedir hostname team_message score pass"); err != nil {
		return nil, err
	}
	t, err := s.owned(host, id)
	if err != nil {
		return nil, err
	}
	values, err := decoded(form, binaryFields)
	if err == nil {
		err = s.checkRun(t, host, values)
	}
	if err != nil {
		return nil, err
	}
	j := t.judging
	if n := len(t.Results); n > 0 && t.Results[n-1].Values["runresult"] != values["runresult"] {
		return nil, fmt.Errorf("judge task %s has the result %s already", id, t.Results[n-1].Values["runresult"])
	}
	t.Results = append(t.Results, Result{host, values})
	if j.Result == "" {
		j.Result = j.decide()
	}
	more := j.Result == "" || j.Submission.Problem.JudgeCompletely || !s.Lazy
	if !more {
		s.invalidate(j)
	}
	if more {
		return 1, nil
	}
	return 0, nil
}

// checkRun checks the values of a result.
func (s *Server) checkRun(t *Task, host string, v map[string]string) error {
	p := t.judging.Submission.Problem
	start, _ := strconv.ParseFloat(v["start_time"], 64)
	end, _ := strconv.ParseFloat(v["end_time"], 64)
	limit, _ := s.Settings["output_storage_limit"].(int)
	switch {
	case !slices.Contains(results, v["runresult"]):
		return fmt.Errorf("runresult %q", v["runresult"])
	case !decimal.MatchString(v["runtime"]) || !decimal.MatchString(v["start_time"]) || !decimal.MatchString(v["end_time"]):
		return fmt.Errorf("times %q %q %q", v["runtime"], v["start_time"], v["end_time"])
	case start < 1e9 || end < start:
		return fmt.Errorf("start %v, end %v", start, end)
	case v["hostname"] != host:
		return fmt.Errorf("hostname %q of %q", v["hostname"], host)
	case !t.judging.compiledOn(host):
		return errors.New("a result before the compilation")
	case p.Passes > 1 && (v["pass"] == "" || v["pass"] > strconv.Itoa(p.Passes)):
		return fmt.Errorf("pass %q of %d", v["pass"], p.Passes)
	case p.Passes <= 1 && v["pass"] != "":
		return fmt.Errorf("pass %q", v["pass"])
	case v["score"] != "" && !p.Scoring:
		return errors.New("a score, but the problem is not a scoring problem")
	case v["score"] != "" && !decimal.MatchString(v["score"]):
		return fmt.Errorf("score %q", v["score"])
	}
	for _, name := range []string{"output_run", "output_diff", "output_error", "output_system"} {
		if err := checkStored(v[name], limit); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	if c := v["compare_metadata"]; c != "" {
		required := "exitcode"
		if p.Combined {
			required += " validator-exited-first"
		}
		if err := checkMeta("compare_metadata", c, required); err != nil {
			return err
		}
	}
	return checkMeta("metadata", v["metadata"], "memory-bytes exitcode wall-time user-time sys-time cpu-time time-used "+
		"time-result stdin-bytes stdout-bytes stderr-bytes")
}

// checkStored checks that a value that exceeds the limit is truncated there and has a note, as the web interface
// requires.
func checkStored(v string, limit int) error {
	note := fmt.Sprintf("\n[output storage truncated after %d B]\n", limit)
	if limit >= 0 && len(v) > limit && (len(v) != limit+len(note) || v[limit:] != note) {
		return fmt.Errorf("has %d bytes and ends with %q", len(v), v[len(v)-min(len(v), len(note)):])
	}
	return nil
}

func (j *Judging) compiledOn(host string) bool {
	return slices.ContainsFunc(j.Compiled, func(c Compiled) bool { return c.Host == host && c.Success })
}

// decide returns the result of a judging: that of the first test that is not correct, once all earlier results are
// known.
func (j *Judging) decide() string {
	for _, t := range j.Tasks {
		if len(t.Results) == 0 {
			return ""
		}
		if r := t.Results[0].Values["runresult"]; r != "correct" {
			return r
		}
	}
	return "correct"
}

func (s *Server) addDebug(host, id string, form url.Values) (any, error) {
	t, err := s.owned(host, id)
	if err != nil {
		return nil, err
	}
	name := "output_run"
	if t.debug != nil {
		name = "full_debug"
	}
	if err := fields(form, name, ""); err != nil {
		return nil, err
	}
	t.Debug, err = decoded(form, name)
	return nil, err
}

func (s *Server) addError(form url.Values) (any, error) {
	if err := fields(form, "description judgehostlog disabled hostname", "judgetaskid"); err != nil {
		return nil, err
	}
	values, err := decoded(form, "judgehostlog")
	if err != nil {
		return nil, err
	}
	var disabled map[string]string
	if err := json.Unmarshal([]byte(values["disabled"]), &disabled); err != nil {
		return nil, fmt.Errorf("disabled %q: %w", values["disabled"], err)
	}
	member := map[string]string{"judgehost": "hostname", "testcase": "testcaseid", "compile_script": "compile_script_id",
		"run_script": "run_script_id", "compare_script": "compare_script_id"}[disabled["kind"]]
	if err := column("description", values["description"]); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(values["disabled"], `{"kind":"`) { // the server compares it as a text
		return nil, fmt.Errorf("disabled %q does not begin with the kind", values["disabled"])
	}
	if member == "" || len(disabled) != 2 || disabled[member] == "" {
		return nil, fmt.Errorf("disabled %q", values["disabled"])
	}
	e := InternalError{Description: values["description"], Log: values["judgehostlog"], Kind: disabled["kind"],
		ID: disabled[member], Host: values["hostname"]}
	if id := values["judgetaskid"]; id != "" {
		t, err := s.owned(e.Host, id)
		if err != nil {
			return nil, err
		}
		e.Task = t.ID
		switch {
		case t.Type != "judging_run":
		case e.Kind == "judgehost":
			s.giveBack(t.judging, e.Host)
		default:
			t.judging.Result = internalError
			s.invalidate(t.judging)
		}
	}
	if e.Kind == "judgehost" {
		s.hosts[e.ID] = false
	} else {
		s.disabled[e.Kind+" "+e.ID] = true
	}
	s.errors = append(s.errors, e)
	return len(s.errors), nil
}
