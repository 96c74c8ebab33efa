package judgehost

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// usableTask is a task that can be judged.
const usableTask = `{"judgetaskid":1,"type":"judging_run","jobid":2,"submitid":"3","contestid":"c","testcase_id":4,
	"testcase_hash":"h","compile_script_id":5,"run_script_id":6,"compare_script_id":7,
	"compile_config":"{'script_timelimit':30,'script_memory_limit':2097152,'script_filesize_limit':2097152,
		'language_extensions':['c'],'filter_compiler_files':true,'hash':'0123456789abcdef0123456789abcdef'}",
	"run_config":"{'time_limit':1.5,'memory_limit':2097152,'output_limit':8192,'process_limit':64,'entry_point':null,
		'hash':'0123456789abcdef0123456789abcdef'}",
	"compare_config":"{'combined_run_compare':false,'hash':'0123456789abcdef0123456789abcdef'}"}`

func parseTask(t *testing.T, text string) (x task) {
	t.Helper()
	text = strings.NewReplacer("'", `\"`, "\n", "", "\t", "").Replace(text)
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		t.Fatal(err)
	}
	return x
}

// TestUnusableTask: a member that is missing, or no limit, is refused by its name.
func TestUnusableTask(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"", "", ""},
		{"'time_limit':1.5", "'time_limit':'100000'", ""},
		{"'time_limit':1.5", "'time_limit':1e300", "run_config.time_limit"},
		{"'time_limit':1.5", "'time_limit':'NaN'", "run_config.time_limit"},
		{"'time_limit':1.5", "'time_limit':null", "run_config.time_limit"},
		{"'memory_limit':2097152", "'memory_limit':1e18", "run_config.memory_limit"},
		{"'output_limit':8192", "'output_limit':'Inf'", "run_config.output_limit"},
		{"'process_limit':64", "'process_limit':1e10", "run_config.process_limit"},
		{"'process_limit':64", "'process_limit':0.5", "run_config.process_limit"},
		{"'entry_point':null", "'pass_limit':-1", "run_config.pass_limit"},
		{"'entry_point':null", "'overshoot':-1", "run_config.overshoot"},
		{"'script_timelimit':30", "'script_timelimit':1e9", "compile_config.script_timelimit"},
		{"'filter_compiler_files':true,", "", "compile_config.filter_compiler_files"},
		{"'filter_compiler_files':true", "'filter_compiler_files':null", "compile_config.filter_compiler_files"},
		{"['c']", "null", "compile_config.language_extensions"},
		{"'combined_run_compare':false,", "", "compare_config.combined_run_compare"},
	} {
		x := parseTask(t, strings.Replace(usableTask, tt.old, tt.new, 1))
		err := x.decode()
		if err == nil {
			err = x.checkRun()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), "read "+tt.want+" of") {
			t.Errorf("%s instead of %s: error %v, want %q", tt.new, tt.old, err, tt.want)
		}
	}
}

// TestUnusableSettings: a setting of the server that is missing is not one that is 0.
func TestUnusableSettings(t *testing.T) {
	for _, tt := range []struct {
		key   string
		value any
		ok    bool
	}{
		{"diskspace_error", 0, true}, {"diskspace_error", nil, false}, {"diskspace_error", 1e300, false},
		{"output_storage_limit", -1, true}, {"output_storage_limit", 0, true}, {"output_storage_limit", nil, false},
		{"output_storage_limit", -3, false}, {"script_timelimit", "Inf", false}, {"script_memory_limit", nil, false},
	} {
		w := newWorld(t)
		w.Settings[tt.key] = tt.value
		_, err := w.client(domserver.Password).Config(t.Context())
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), tt.key) {
			t.Errorf("%s = %v: error %v", tt.key, tt.value, err)
		}
	}
}

// TestNoAnswer: null is no answer, in particular not that there is no work, and other commands than none are none.
func TestNoAnswer(t *testing.T) {
	w := newWorld(t)
	answer := "null"
	w.Fault = func(string, string) *domserver.Fault { return &domserver.Fault{Status: 200, Body: answer} }
	c := w.client(domserver.Password)
	if _, err := c.register(t.Context(), "host-0"); err == nil {
		t.Error("registered by null")
	}
	if list, err := c.fetchWork(t.Context(), "host-0"); err == nil {
		t.Errorf("work %v from null", list)
	}
	if more, err := c.addRun(t.Context(), "host-0", "1", nil); err == nil {
		t.Errorf("null is answered to a result: %t", more)
	}
	answer = "[]"
	if _, err := c.versionCommands(t.Context(), "1"); err != nil {
		t.Errorf("no commands: %v", err)
	}
	answer = `["gcc --version"]`
	if v, err := c.versionCommands(t.Context(), "1"); err == nil {
		t.Errorf("commands %+v from an array", v)
	}
}

// TestMixedBatch: tasks of two submissions or types are not judged as one.
func TestMixedBatch(t *testing.T) {
	for member, other := range map[string]string{"submitid": `"another"`, "jobid": "9999", "contestid": `"another"`,
		"compile_script_id": "9999", "type": `"debug_info"`} {
		w := newWorld(t)
		w.Fault = func(_, path string) *domserver.Fault {
			if path != "judgehosts/fetch-work" {
				return nil
			}
			return &domserver.Fault{Handle: true, Corrupt: func(text string) string {
				var tasks []map[string]json.RawMessage
				if json.Unmarshal([]byte(text), &tasks) != nil || len(tasks) < 2 {
					return text
				}
				tasks[1][member] = json.RawMessage(other)
				changed, err := json.Marshal(tasks)
				if err != nil {
					t.Error(err)
				}
				return string(changed)
			}}
		}
		id := w.submit(w.problem("1", "2"), "")
		stop := w.start(newFakeEngine(1))
		testkit.WaitFor(t, patience, "an internal error", func() bool { return len(w.Errors()) > 0 })
		stop()
		if e := w.Errors()[0]; e.Kind != "judgehost" || !strings.Contains(e.Description, "together") {
			t.Errorf("%s: internal error %+v", member, e)
		}
		if diff := cmp.Diff([]string{"", ""}, results(w.Judging(id))); diff != "" {
			t.Errorf("%s: results (-want +got)\n%s", member, diff)
		}
	}
}

// TestDrip: a server that sends a byte now and then does not hold a host for ever.
func TestDrip(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
			}
		}
	}))
	defer s.Close()
	w := &world{t: t, Server: &domserver.Server{Server: s}, idle: shortIdle}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := w.client("x").fetchWork(ctx, "host-0"); !errors.Is(err, errIdle) {
		t.Errorf("error %v, want %v", err, errIdle)
	}
}

// TestLargeOutputs: large outputs do not wait in memory for a slow server. A test begins once all results but the last
// one are sent.
func TestLargeOutputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Fault = func(_, path string) *domserver.Fault {
		if strings.HasPrefix(path, "judgehosts/add-judging-run") {
			return &domserver.Fault{Handle: true, Wait: 30 * time.Millisecond}
		}
		return nil
	}
	e := newFakeEngine(1)
	var mu sync.Mutex
	begun, most := 0, 0
	e.before = func(context.Context, string) {
		mu.Lock()
		defer mu.Unlock()
		most = max(most, begun-w.Requests("judgehosts/add-judging-run"))
		begun++
	}
	inputs := strings.Fields("1 2 3 4 5 6")
	id := w.submit(w.problem(inputs...), strings.Join(inputs, " BIG\n")+" BIG")
	w.start(e)
	w.await(id)
	mu.Lock()
	defer mu.Unlock()
	if most > 1 {
		t.Errorf("%d results waited", most)
	}
}

// TestHistoryOfOneJob: a job keeps no more than all jobs may, and sends no more than fits into memory.
func TestHistoryOfOneJob(t *testing.T) {
	const file, most = 10 << 10, 50 << 10
	h := newHistory(t.TempDir(), most)
	put := func(name string) error { return h.put("2", name, make([]byte, file)) }
	for _, name := range []string{"a", "b", "c"} {
		if err := put(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("d"); err == nil || h.sum > most {
		t.Errorf("%d bytes are kept, %v", h.sum, err)
	}
	if content, err := h.get("2", "a"); err != nil || len(content) != file {
		t.Errorf("what was kept: %d bytes, %v", len(content), err)
	}
	h.bytes["2"] = maxArchive + 1
	if err := h.archive(io.Discard, "2"); err == nil {
		t.Error("an archive of any size is made in memory")
	}
}
