package judge0

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// asked holds a submission as requested, with defaults and without its texts. It is stored as the origin of the job.
type asked struct {
	Language         int     `json:"language_id"`
	CompilerOptions  *string `json:"compiler_options"`
	Arguments        *string `json:"command_line_arguments"`
	Runs             int64   `json:"number_of_runs"`
	CPUTime          float64 `json:"cpu_time_limit"` // seconds
	ExtraTime        float64 `json:"cpu_extra_time"`
	WallTime         float64 `json:"wall_time_limit"`
	Memory           int64   `json:"memory_limit"` // KiB
	Stack            int64   `json:"stack_limit"`
	Processes        int64   `json:"max_processes_and_or_threads"`
	PerProcessTime   bool    `json:"enable_per_process_and_thread_time_limit"`
	PerProcessMemory bool    `json:"enable_per_process_and_thread_memory_limit"`
	FileSize         int64   `json:"max_file_size"` // KiB
	Redirect         bool    `json:"redirect_stderr_to_stdout"`
	Callback         *string `json:"callback_url"`
	Network          bool    `json:"enable_network"`
}

// texts holds the contents of a submission; nil means absent.
type texts struct {
	source, stdin, expected, files []byte
}

// faults holds the errors of a submission by member, as Judge0 reports them.
type faults map[string][]string

func (f faults) add(member, format string, args ...any) {
	f[member] = append(f[member], fmt.Sprintf(format, args...))
}

// check adds an error for a member unless ok.
func (f faults) check(ok bool, member, format string, args ...any) {
	if !ok {
		f.add(member, format, args...)
	}
}

// maxText is the maximum length of options and arguments in characters.
const maxText = 512

// form reads the members of a submission. A wrong value adds a fault, and its default is used.
type form struct {
	values map[string]json.RawMessage
	faults faults
}

// given returns the value of a member, or "" if it is absent or null.
func (f form) given(member string) string {
	text := string(f.values[member])
	if text == "null" {
		return ""
	}
	return text
}

// text returns a text, or nil if it is absent. Numbers and booleans are accepted as texts, because forms have only
// texts.
func (f form) text(member string) *string {
	raw := f.given(member)
	if raw == "" {
		return nil
	}
	if raw[0] == '{' || raw[0] == '[' {
		f.faults.add(member, "is not a text")
		return nil
	}
	if raw[0] == '"' {
		if err := json.Unmarshal([]byte(raw), &raw); err != nil {
			f.faults.add(member, "is not a text")
			return nil
		}
	}
	return &raw
}

// bytes returns the content of a member, or nil if it is absent.
func (f form) bytes(member string, encoded bool) []byte {
	text := f.text(member)
	if text == nil {
		return nil
	}
	if !encoded {
		return []byte(*text)
	}
	content, err := decode(*text)
	if err != nil {
		f.faults.add(member, "%s", err)
		return nil
	}
	return content
}

// number returns a number, or otherwise if it is absent.
func (f form) number(member string, otherwise float64) float64 {
	text := f.text(member)
	if text == nil || *text == "" {
		return otherwise
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(*text), 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		f.faults.add(member, "is not a number")
		return otherwise
	}
	return n
}

// between returns a number between low and high.
func (f form) between(member string, otherwise, low, high float64) float64 {
	n := f.number(member, otherwise)
	switch {
	case n < low:
		f.faults.add(member, "must be greater than or equal to %s", plain(low))
	case n > high:
		f.faults.add(member, "must be less than or equal to %s", plain(high))
	default:
		return n
	}
	return otherwise
}

// plain formats a number without an exponent.
func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// truth returns a boolean, or false if it is absent.
func (f form) truth(member string) bool {
	text := f.text(member)
	if text == nil {
		return false
	}
	switch strings.ToLower(*text) {
	case "true", "t", "1", "on":
		return true
	case "false", "f", "0", "off", "":
		return false
	}
	f.faults.add(member, "is not true or false")
	return false
}

// read reads a submission. If there are no faults, it can be judged, unless its language is not available.
func (f form) read(encoded bool, b bounds) (asked, texts) {
	a := asked{
		Language:        int(f.between("language_id", 0, math.MinInt32, math.MaxInt32)),
		CompilerOptions: f.text("compiler_options"),
		Arguments:       f.text("command_line_arguments"),
		Runs:            int64(f.between("number_of_runs", defaultRuns, 1, float64(b.Runs))),
		CPUTime:         f.between("cpu_time_limit", b.DefaultCPUTime, 0, b.CPUTime),
		ExtraTime:       f.between("cpu_extra_time", defaultExtraTime, 0, maxExtraTime),
		WallTime:        f.between("wall_time_limit", b.DefaultWallTime, min(1, b.WallTime), b.WallTime),
		Memory:          int64(f.between("memory_limit", float64(b.DefaultMemory), minMemory, float64(b.Memory))),
		Stack:           int64(f.between("stack_limit", float64(b.DefaultStack), 0, float64(b.Stack))),
		Processes: int64(f.between("max_processes_and_or_threads", float64(b.DefaultProcesses), 1,
			float64(b.Processes))),
		PerProcessTime:   f.truth("enable_per_process_and_thread_time_limit"),
		PerProcessMemory: f.truth("enable_per_process_and_thread_memory_limit"),
		FileSize:         int64(f.between("max_file_size", float64(b.DefaultFileSize), 0, float64(b.FileSize))),
		Redirect:         f.truth("redirect_stderr_to_stdout"),
		Callback:         f.text("callback_url"),
		Network:          f.truth("enable_network"),
	}
	t := texts{source: f.bytes("source_code", encoded), stdin: f.bytes("stdin", encoded),
		expected: f.bytes("expected_output", encoded), files: f.bytes("additional_files", true)}
	f.check(a, t)
	return a, t
}

// check checks the members together.
func (f form) check(a asked, t texts) {
	if f.given("language_id") == "" {
		f.faults.add("language_id", "can't be blank")
	} else if _, known := find(a.Language); !known && len(f.faults["language_id"]) == 0 {
		f.faults.add("language_id", "language with id %d doesn't exist", a.Language)
	}
	source := strings.TrimSpace(string(t.source)) != ""
	if len(f.faults["source_code"]) == 0 {
		f.faults.check(source || a.Language == multiFile, "source_code", "can't be blank")
		f.faults.check(!source || a.Language != multiFile, "source_code", "must be blank")
	}
	if len(f.faults["additional_files"]) == 0 {
		f.faults.check(len(t.files) > 0 || a.Language != multiFile, "additional_files", "can't be blank")
	}
	for member, text := range map[string]*string{"compiler_options": a.CompilerOptions,
		"command_line_arguments": a.Arguments} {
		if text != nil {
			f.faults.check(utf8.RuneCountInString(*text) <= maxText, member, "is too long (maximum is %d characters)",
				maxText)
			f.faults.check(!strings.ContainsRune(*text, 0), member, "contains a NUL character")
		}
	}
	const fixed = "this option cannot be enabled"
	f.faults.check(!a.PerProcessTime, "enable_per_process_and_thread_time_limit", fixed)
	f.faults.check(!a.PerProcessMemory, "enable_per_process_and_thread_memory_limit", fixed)
	f.faults.check(!a.Network, "enable_network", "enabling network is not allowed")
}

func blank(text *string) bool { return text == nil || strings.TrimSpace(*text) == "" }
