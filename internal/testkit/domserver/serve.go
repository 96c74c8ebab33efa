package domserver

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Results of judgings that are not results of a run.
const (
	internalError = "internal-error"
	compilerError = "compiler-error"
)

// refused is a response with an error status.
type refused struct {
	status  int
	message string
	final   bool
}

func (r *refused) Error() string { return r.message }

// serve handles a request, with the fault that a test has set.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v4/")
	if !ok {
		s.complain("request of %s", r.URL.Path)
		http.NotFound(w, r)
		return
	}
	s.locked(func() { s.requests[plain(path)]++ })
	fault := &Fault{}
	if s.Fault != nil {
		if f := s.Fault(r.Method, path); f != nil {
			fault = f
		}
	}
	if fault.Wait > 0 {
		_ = r.ParseForm()
		select {
		case <-r.Context().Done():
			return
		case <-s.after(fault.Wait):
		}
	}
	answer := httptest.NewRecorder()
	if fault.Status == 0 && !fault.CutBefore || fault.Handle {
		s.handle(answer, r, path)
	}
	if fault.CutBefore {
		panic(http.ErrAbortHandler)
	}
	if fault.Status != 0 {
		w.WriteHeader(fault.Status)
		_, _ = w.Write([]byte(fault.Body))
		return
	}
	body := answer.Body.String()
	if fault.Corrupt != nil {
		body = fault.Corrupt(body)
	}
	w.Header().Set("Content-Type", "application/json")
	if fault.Truncate > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		body = body[:min(len(body), fault.Truncate)]
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write([]byte(body))
	if fault.Truncate > 0 {
		panic(http.ErrAbortHandler)
	}
	if fault.Linger > 0 {
		_ = http.NewResponseController(w).Flush()
		<-s.after(fault.Linger)
	}
}

// plain returns a path without IDs.
func plain(path string) string {
	words := strings.Split(path, "/")
	return strings.Join(words[:min(2, len(words))], "/")
}

func (s *Server) complain(format string, args ...any) {
	s.locked(func() { s.complainLocked(format, args...) })
}

func (s *Server) complainLocked(format string, args ...any) {
	s.complaints = append(s.complaints, fmt.Sprintf(format, args...))
}

// handle handles a request without a fault.
func (s *Server) handle(w http.ResponseWriter, r *http.Request, path string) {
	user, password, _ := r.BasicAuth()
	if user != User || password != Password {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var form url.Values
	if r.Method != http.MethodGet {
		if err := parseForm(r); err != nil {
			if r.Context().Err() != nil || errors.Is(err, io.ErrUnexpectedEOF) {
				return // the client has closed the request
			}
			s.complain("%s %s: %v", r.Method, path, err)
		}
		form = r.PostForm
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, err := s.route(r.Method, path, form)
	if err != nil {
		s.complainLocked("%s %s: %v", r.Method, path, err)
		status, final := http.StatusBadRequest, false
		if as, ok := err.(*refused); ok {
			status, final = as.status, as.final
			if final { // the server must be able to report this
				s.complaints = s.complaints[:len(s.complaints)-1]
			}
		}
		said := map[string]any{"code": status, "message": err.Error()}
		if final {
			said["retry"] = false
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(said)
		return
	}
	text, _ := json.Marshal(answer)
	_, _ = w.Write([]byte(strings.ReplaceAll(string(text), "/", `\/`))) // like PHP
}

// maxMemory is the number of bytes of a form that are kept in memory.
const maxMemory = 64 << 20

// parseForm parses a form like PHP, which does not support multipart for PUT.
func parseForm(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return err
	case kind == "multipart/form-data" && r.Method == http.MethodPost:
		if err := r.ParseMultipartForm(maxMemory); err != nil {
			return err
		}
		if len(r.MultipartForm.File) > 0 {
			return errors.New("a member of the form is a file")
		}
		return nil
	case kind == "application/x-www-form-urlencoded":
		return r.ParseForm()
	}
	return fmt.Errorf("Content-Type %q", kind)
}

func (s *Server) route(method, path string, form url.Values) (any, error) {
	words := strings.Split(path, "/")
	for i := range words {
		words[i], _ = url.PathUnescape(words[i])
	}
	call := method + " " + strings.Join(words[:min(2, len(words))], "/")
	switch {
	case call == "GET config":
		return s.Settings, nil
	case call == "GET languages":
		return []map[string]any{{"id": "cpp", "extensions": []string{"cpp", "cc", "C"}},
			{"id": "java", "extensions": []string{"java"}}}, nil
	case call == "GET judgehosts":
		list := []map[string]any{}
		for name, on := range s.hosts {
			list = append(list, map[string]any{"id": "7", "hostname": name, "enabled": on, "polltime": 1.5})
		}
		return list, nil
	case call == "POST judgehosts":
		return s.register(form)
	case call == "POST judgehosts/fetch-work":
		return s.fetchWork(form)
	case call == "GET judgehosts/get_files" && len(words) >= 4:
		return s.getFiles(words[2], words[3:])
	case call == "GET judgehosts/get_version_commands" && len(words) == 3:
		return s.versionCommands(words[2])
	case call == "PUT judgehosts/check_versions" && len(words) == 3:
		return s.checkVersions(words[2], form)
	case call == "PUT judgehosts/update-judging" && len(words) == 4:
		return s.updateJudging(words[2], words[3], form)
	case call == "POST judgehosts/add-judging-run" && len(words) == 4:
		return s.addRun(words[2], words[3], form)
	case call == "POST judgehosts/add-debug-info" && len(words) == 4:
		return s.addDebug(words[2], words[3], form)
	case call == "POST judgehosts/internal-error":
		return s.addError(form)
	}
	return nil, &refused{status: http.StatusNotFound, message: "no such call"}
}

// fields checks that a form has the required members, may have the optional ones, and has no others.
func fields(form url.Values, required, optional string) error {
	for _, name := range strings.Fields(required) {
		if !form.Has(name) {
			return fmt.Errorf("no %s", name)
		}
	}
	known := strings.Fields(required + " " + optional)
	for name, values := range form {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown %s", name)
		}
		if len(values) != 1 {
			return fmt.Errorf("%d values of %s", len(values), name)
		}
	}
	return nil
}

// decoded decodes the named members of a form from base64, and copies the others.
func decoded(form url.Values, binary string) (map[string]string, error) {
	values := map[string]string{}
	for name := range form {
		v := form.Get(name)
		if slices.Contains(strings.Fields(binary), name) {
			b, err := base64.StdEncoding.Strict().DecodeString(v)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			v = string(b)
		}
		values[name] = v
	}
	return values, nil
}

func (s *Server) register(form url.Values) (any, error) {
	if err := fields(form, "hostname", ""); err != nil {
		return nil, err
	}
	name := form.Get("hostname")
	if _, known := s.hosts[name]; !known {
		s.hosts[name] = s.EnableHosts
	}
	back := []map[string]any{}
	for _, j := range s.judgings {
		if s.giveBack(j, name) && j.Result != compilerError {
			back = append(back, map[string]any{"jobid": j.ID, "submitid": fmt.Sprint(j.ID)})
		}
	}
	return back, nil
}

// giveBack unassigns the tasks of a host that have no result.
func (s *Server) giveBack(j *Judging, host string) (any bool) {
	for _, t := range j.Tasks {
		if t.host == host && len(t.Results) == 0 {
			t.host, t.started, any = "", false, true
		}
	}
	return any
}

func (s *Server) fetchWork(form url.Values) (any, error) {
	if err := fields(form, "hostname", "max_batchsize"); err != nil {
		return nil, err
	}
	host := form.Get("hostname")
	on, known := s.hosts[host]
	switch {
	case !known:
		return nil, &refused{status: http.StatusBadRequest, message: "register yourself first"}
	case !on:
		return []any{}, nil
	case s.again > 0:
		s.again--
		return []any{map[string]any{"type": "try_again"}}, nil
	}
	if tasks := s.claimExtra(host, "debug_info", 1); len(tasks) > 0 {
		return tasks, nil
	}
	if tasks := s.claimRuns(s.last[host], host); len(tasks) > 0 {
		return tasks, nil
	}
	for _, fresh := range []bool{true, false} {
		for _, j := range s.judgings {
			begun := slices.ContainsFunc(j.Tasks, func(t *Task) bool { return t.Given > 0 })
			if begun == fresh && !(begun && !s.Parallel && s.hasHost(j)) {
				continue
			}
			if tasks := s.claimRuns(j, host); len(tasks) > 0 {
				return tasks, nil
			}
		}
	}
	return s.claimExtra(host, "prefetch", 50), nil
}

func (s *Server) hasHost(j *Judging) bool {
	return slices.ContainsFunc(j.Tasks, func(t *Task) bool { return t.host != "" && len(t.Results) == 0 })
}

func (s *Server) claimExtra(host, kind string, most int) (tasks []map[string]any) {
	tasks = []map[string]any{}
	for _, t := range s.extra {
		if t.Type == kind && t.host == host && !t.started && len(tasks) < most &&
			(len(tasks) == 0 || kind == "prefetch") {
			t.started = true
			tasks = append(tasks, t.document())
		}
	}
	return tasks
}

// claimRuns assigns tasks of a judging that no host has.
func (s *Server) claimRuns(j *Judging, host string) (tasks []map[string]any) {
	if j == nil {
		return nil
	}
	for _, t := range j.Tasks {
		p := j.Submission.Problem
		if t.host != "" || !t.valid || len(tasks) == s.Batch ||
			s.disabled[fmt.Sprint("compile_script ", j.Submission.Language.Compile.ID)] ||
			s.disabled[fmt.Sprint("run_script ", p.Run.ID)] || s.disabled[fmt.Sprint("compare_script ", p.Compare.ID)] ||
			s.disabled[fmt.Sprint("testcase ", p.Tests[t.Test].ID)] {
			continue
		}
		t.host, t.started = host, true
		t.Given++
		tasks = append(tasks, t.document())
	}
	if len(tasks) > 0 {
		s.last[host] = j
	}
	return tasks
}

// document returns a task in the form for judgehosts: IDs are strings or numbers.
func (t *Task) document() map[string]any {
	j, l, p := t.judging, t.judging.Submission.Language, t.judging.Submission.Problem
	c := p.Tests[t.Test]
	d := map[string]any{"judgetaskid": t.ID, "type": t.Type, "priority": 0, "jobid": strconv.Itoa(j.ID), "uuid": j.uuid,
		"submitid": strconv.Itoa(j.ID), "contestid": "demo", "testcase_id": strconv.Itoa(c.ID), "testcase_hash": c.Hash,
		"compile_script_id": strconv.Itoa(l.Compile.ID), "run_script_id": strconv.Itoa(p.Run.ID),
		"compare_script_id": strconv.Itoa(p.Compare.ID)}
	if t.Type == "debug_info" {
		for _, name := range []string{"compile_script_id", "run_script_id", "compare_script_id", "testcase_hash"} {
			delete(d, name)
		}
		d["pass"] = t.Pass
		if t.debug != nil {
			d["run_script_id"] = strconv.Itoa(t.debug.ID)
			d["run_config"] = text(map[string]any{"hash": t.debug.Hash})
		}
		return d
	}
	or := func(n, otherwise int) int {
		if n == 0 {
			return otherwise
		}
		return n
	}
	compareHash := p.Compare.Hash
	if p.WrongCompareHash {
		compareHash = sum("wrong")
	}
	d["compile_config"] = text(map[string]any{"script_timelimit": or(l.CompileTimeLimit, 30),
		"script_memory_limit":   or(l.CompileMemoryKB, 2097152),
		"script_filesize_limit": or(l.CompileFileSizeKB, 2621440),
		"language_extensions":   l.Extensions, "filter_compiler_files": l.Filter, "hash": l.Compile.Hash})
	run := map[string]any{"time_limit": p.TimeLimit, "memory_limit": or(p.MemoryKB, 2097152),
		"output_limit": or(p.OutputKB, 8192), "process_limit": or(p.Processes, 64), "entry_point": nil,
		"pass_limit": or(p.Passes, 1), "hash": p.Run.Hash, "overshoot": p.ExtraOvershoot}
	if e := j.Submission.EntryPoint; e != "" {
		run["entry_point"] = e
	}
	d["run_config"] = text(run)
	compare := map[string]any{"script_timelimit": 30, "script_memory_limit": 2097152, "script_filesize_limit": 2621440,
		"compare_args": c.Args, "combined_run_compare": p.Combined, "is_scoring_problem": p.Scoring, "hash": compareHash}
	if c.Args == "" {
		compare["compare_args"] = nil
	}
	d["compare_config"] = text(compare)
	return d
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
