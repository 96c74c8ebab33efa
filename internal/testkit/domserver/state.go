package domserver

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The account of the judgehosts.
const (
	User     = "judgehost"
	Password = "s3cret-Passw0rd"
)

// File is a file of a submission or an executable.
type File struct {
	Name, Content string
	Exec          bool
}

// Executable is a compile, run, compare or debug script.
type Executable struct {
	ID    int
	Files []File
	Hash  string // hash of its files, unless a test replaces it
}

// Testcase is one test of a problem.
type Testcase struct {
	ID            int
	Input, Output string
	Args          string // arguments of the compare script
	Hash          string
}

// Language defines how submissions are compiled.
type Language struct {
	Compile           Executable
	Extensions        []string
	Filter            bool
	CompilerVersion   string // shell script
	RunnerVersion     string
	WantedVersion     string // required version of the compiler
	CompileTimeLimit  int    // seconds; 0 means the default
	CompileMemoryKB   int
	CompileFileSizeKB int
}

// Problem is the problem of a submission.
type Problem struct {
	TimeLimit        float64
	MemoryKB         int
	OutputKB         int
	Processes        int
	Passes           int
	Run, Compare     Executable
	Combined         bool
	Scoring          bool
	Tests            []Testcase
	ExtraOvershoot   int
	JudgeCompletely  bool
	WrongCompareHash bool
}

// Submission is a submission of a team.
type Submission struct {
	Language   Language
	Problem    Problem
	Files      []File
	EntryPoint string
}

// Task is a judge task.
type Task struct {
	ID, Test int // Test is an index of the problem's tests
	Type     string
	judging  *Judging
	host     string // "" means not assigned
	started  bool
	valid    bool
	Results  []Result
	// Given counts how often the task was assigned.
	Given int
	Pass  int
	debug *Executable
	// Debug holds the content received for a task of type debug_info.
	Debug map[string]string
}

// Result is one result of a task, with the binary values decoded.
type Result struct {
	Host   string
	Values map[string]string
}

// Judging is the judging of a submission.
type Judging struct {
	ID         int
	Submission Submission
	Tasks      []*Task
	Result     string
	Compiled   []Compiled
	uuid       string
}

// Compiled is one report of a compilation.
type Compiled struct {
	Host, EntryPoint, Output, Metadata string
	Success                            bool
}

// InternalError is a reported internal error.
type InternalError struct {
	Description, Log string
	Kind, ID         string
	Host             string
	Task             int
}

// Fault replaces a response.
type Fault struct {
	Status    int           // sent instead of the response, if not 0
	Body      string        // sent with Status
	Handle    bool          // handle the request nevertheless
	Truncate  int           // number of bytes of the response after which the connection is closed; 0 means all
	Wait      time.Duration // delay of the response, while the client waits
	Linger    time.Duration // delay of the end of the response, after its content
	Corrupt   func(string) string
	CutBefore bool // close the connection without a response
}

// Server is a DOMjudge server.
type Server struct {
	*httptest.Server
	// Settings of the server, to be set before it is used.
	Settings map[string]any
	Batch    int  // maximum number of tasks in a batch
	Lazy     bool // judgings end as soon as their result is known
	Parallel bool // hosts share judgings
	// EnableHosts means that new hosts are enabled.
	EnableHosts bool
	// Fault, if not nil, returns the fault for a response, or nil.
	Fault func(method, path string) *Fault

	mu         sync.Mutex // guards the fields below
	nextID     int
	hosts      map[string]bool // enabled
	execs      map[int]Executable
	cases      map[int]Testcase
	judgings   []*Judging
	extra      []*Task // prefetch and debug_info
	last       map[string]*Judging
	disabled   map[string]bool // KIND ID
	errors     []InternalError
	versions   map[int]map[string]string
	complaints []string
	requests   map[string]int
	again      int // number of try_again responses to send
	opened     int // connections
}

// New starts a server that is stopped at the end of the test.
func New(t testing.TB) *Server {
	s := &Server{Batch: 5, Lazy: true, Parallel: true, EnableHosts: true, hosts: map[string]bool{},
		execs: map[int]Executable{}, cases: map[int]Testcase{}, last: map[string]*Judging{}, disabled: map[string]bool{},
		versions: map[int]map[string]string{}, requests: map[string]int{},
		Settings: map[string]any{"diskspace_error": 1, "output_storage_limit": 50000, "timelimit_overshoot": "1s|10%",
			"script_timelimit": 30, "script_memory_limit": 2097152, "script_filesize_limit": 2621440,
			"results_prio": map[string]int{"correct": 1}}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.locked(func() { s.opened++ })
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// Base returns the URL for judgehosts.
func (s *Server) Base() string { return s.URL + "/api/v4" }

// locked runs f with the lock.
func (s *Server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *Server) id() int {
	s.nextID++
	return s.nextID
}

// AddExecutable stores a script.
func (s *Server) AddExecutable(files ...File) (e Executable) {
	s.locked(func() {
		e = Executable{ID: s.id(), Files: files, Hash: hashOf(files)}
		s.execs[e.ID] = e
	})
	return e
}

// hashOf returns the hash of an executable.
func hashOf(files []File) string {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	var all string
	for _, f := range sorted {
		all += sum(f.Content) + f.Name
		if f.Exec {
			all += "1"
		}
	}
	return sum(all)
}

func sum(s string) string {
	h := md5.Sum([]byte(s))
	return hex.EncodeToString(h[:])
}

// AddTestcase stores a test case.
func (s *Server) AddTestcase(input, output string) (c Testcase) {
	s.locked(func() {
		c = Testcase{ID: s.id(), Input: input, Output: output, Hash: sum(input) + "_" + sum(output)}
		s.cases[c.ID] = c
	})
	return c
}

// Submit creates the judging of a submission and returns its ID.
func (s *Server) Submit(x Submission) (id int) {
	s.locked(func() {
		j := &Judging{ID: s.id(), Submission: x, uuid: fmt.Sprintf("uuid-%d", s.nextID)}
		for i := range x.Problem.Tests {
			j.Tasks = append(j.Tasks, &Task{ID: s.id(), Test: i, Type: "judging_run", judging: j, valid: true})
		}
		s.judgings = append(s.judgings, j)
		id = j.ID
	})
	return id
}

// Prefetch makes a host fetch the files that a submission needs.
func (s *Server) Prefetch(host string, x Submission) {
	s.locked(func() {
		j := &Judging{ID: s.id(), Submission: x}
		for i := range x.Problem.Tests {
			s.extra = append(s.extra, &Task{ID: s.id(), Test: i, Type: "prefetch", judging: j, host: host, valid: true})
		}
	})
}

// Debug requests from a host the complete output of a test or, with a script, all data of a judging. It returns the ID
// of the task.
func (s *Server) Debug(host string, judging, test int, script *Executable) (id int) {
	s.locked(func() {
		t := &Task{ID: s.id(), Test: test, Type: "debug_info", judging: s.find(judging), host: host, valid: true, Pass: 1,
			debug: script}
		s.extra = append(s.extra, t)
		id = t.ID
	})
	return id
}

// TryAgain makes the next n responses to fetch-work ask the host to repeat its request.
func (s *Server) TryAgain(n int) { s.locked(func() { s.again += n }) }

// Enable enables or disables a host.
func (s *Server) Enable(host string, on bool) { s.locked(func() { s.hosts[host] = on }) }

// Hosts returns the hosts and whether they are enabled.
func (s *Server) Hosts() (hosts map[string]bool) {
	s.locked(func() { hosts = maps.Clone(s.hosts) })
	return hosts
}

func (s *Server) find(judging int) *Judging {
	for _, j := range s.judgings {
		if j.ID == judging {
			return j
		}
	}
	return nil
}

// Judging returns a copy of a judging.
func (s *Server) Judging(id int) (c Judging) {
	s.locked(func() {
		c = *s.find(id)
		c.Tasks = nil
		for _, t := range s.find(id).Tasks {
			own := *t
			own.Results = slices.Clone(t.Results)
			c.Tasks = append(c.Tasks, &own)
		}
	})
	return c
}

// Task returns a copy of a prefetch or debug task.
func (s *Server) Task(id int) (c Task) {
	s.locked(func() {
		for _, t := range s.extra {
			if t.ID == id {
				c = *t
			}
		}
	})
	return c
}

// Errors returns the internal errors.
func (s *Server) Errors() (list []InternalError) {
	s.locked(func() { list = slices.Clone(s.errors) })
	return list
}

// Complaints returns the violations in requests.
func (s *Server) Complaints() (list []string) {
	s.locked(func() { list = slices.Clone(s.complaints) })
	return list
}

// Requests returns the number of requests for a path, given by its first words without IDs.
func (s *Server) Requests(path string) (n int) {
	s.locked(func() { n = s.requests[path] })
	return n
}

// Opened returns the number of connections that were opened.
func (s *Server) Opened() (n int) {
	s.locked(func() { n = s.opened })
	return n
}

// Versions returns the versions that a host reported for a judging.
func (s *Server) Versions(judging int) (v map[string]string) {
	s.locked(func() { v = s.versions[judging] })
	return v
}

// Unfinished returns the tasks of a judging that are assigned to a host and have no result.
func (s *Server) Unfinished() (ids []int) {
	s.locked(func() {
		for _, j := range s.judgings {
			for _, t := range j.Tasks {
				if t.host != "" && len(t.Results) == 0 && j.Result == "" {
					ids = append(ids, t.ID)
				}
			}
		}
	})
	return ids
}
