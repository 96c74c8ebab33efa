package judge0

import (
	"net/http"
	"strconv"
)

// imitated is the version of Judge0 whose API this is. Clients select their table of languages by it.
const imitated = "1.13.1"

func (h *handler) listLanguages(w http.ResponseWriter, r *http.Request) error {
	known, err := h.catalogue(r.Context())
	if err != nil {
		return err
	}
	all := []shown{}
	for _, l := range sortedLanguages() {
		if known.has(l) {
			all = append(all, known.show(l))
		}
	}
	h.answer(w, r, http.StatusOK, all)
	return nil
}

func (h *handler) listAllLanguages(w http.ResponseWriter, r *http.Request) error {
	known, err := h.catalogue(r.Context())
	if err != nil {
		return err
	}
	all := []shown{}
	for _, l := range sortedLanguages() {
		one := known.show(l)
		one.Archived = new(!known.has(l))
		all = append(all, one)
	}
	h.answer(w, r, http.StatusOK, all)
	return nil
}

func (h *handler) getLanguage(w http.ResponseWriter, r *http.Request) error {
	number, err := strconv.Atoi(r.PathValue("id"))
	l, known := find(number)
	if err != nil || !known {
		return failed(http.StatusNotFound, "Not Found")
	}
	all, err := h.catalogue(r.Context())
	if err != nil {
		return err
	}
	one := detailed{shown: all.show(l)}
	one.Archived = new(!all.has(l))
	if l.source != "" {
		one.Source = &l.source
	}
	h.answer(w, r, http.StatusOK, one)
	return nil
}

// configInfo responds with the members of Judge0's configuration.
func (h *handler) configInfo(w http.ResponseWriter, r *http.Request) error {
	c := h.desk.Config()
	b := boundsOf(c)
	h.answer(w, r, http.StatusOK, map[string]any{
		"maintenance_mode":                                 false,
		"enable_wait_result":                               true,
		"enable_compiler_options":                          true,
		"allowed_languages_for_compile_options":            []string{},
		"enable_command_line_arguments":                    true,
		"enable_submission_delete":                         false,
		"enable_callbacks":                                 true,
		"callbacks_max_tries":                              3,
		"callbacks_timeout":                                5,
		"enable_additional_files":                          true,
		"max_queue_size":                                   c.Queue.MaxWaiting,
		"cpu_time_limit":                                   b.DefaultCPUTime,
		"max_cpu_time_limit":                               b.CPUTime,
		"cpu_extra_time":                                   defaultExtraTime,
		"max_cpu_extra_time":                               maxExtraTime,
		"wall_time_limit":                                  b.DefaultWallTime,
		"max_wall_time_limit":                              b.WallTime,
		"memory_limit":                                     b.DefaultMemory,
		"max_memory_limit":                                 b.Memory,
		"stack_limit":                                      b.DefaultStack,
		"max_stack_limit":                                  b.Stack,
		"max_processes_and_or_threads":                     b.DefaultProcesses,
		"max_max_processes_and_or_threads":                 b.Processes,
		"enable_per_process_and_thread_time_limit":         false,
		"allow_enable_per_process_and_thread_time_limit":   false,
		"enable_per_process_and_thread_memory_limit":       false,
		"allow_enable_per_process_and_thread_memory_limit": false,
		"max_file_size":                                    b.DefaultFileSize,
		"max_max_file_size":                                b.FileSize,
		"number_of_runs":                                   defaultRuns,
		"max_number_of_runs":                               b.Runs,
		"redirect_stderr_to_stdout":                        false,
		"max_extract_size":                                 int64(maxExtracted / kib),
		"enable_batched_submissions":                       true,
		"max_submission_batch_size":                        maxBatch,
		"submission_cache_duration":                        0,
		"use_docs_as_homepage":                             false,
		"allow_enable_network":                             false,
		"enable_network":                                   false,
		"disable_implicit_base64_encoding":                 true,
	})
	return nil
}

// fixed responds with a value that never changes.
func (h *handler) fixed(v any) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		h.answer(w, r, http.StatusOK, v)
		return nil
	}
}

// plain responds with a text that never changes.
func (h *handler) plain(text string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		h.desk.Answer(w, r, http.StatusOK, []byte(text))
		return nil
	}
}

// workers responds with the queue of judged, and its slots, or those of the nodes of a front, as workers.
func (h *handler) workers(w http.ResponseWriter, r *http.Request) error {
	waiting, slots, err := h.desk.Load(r.Context())
	if err != nil {
		return err
	}
	states := map[string]int{}
	for _, state := range slots {
		states[state]++
	}
	h.answer(w, r, http.StatusOK, []map[string]any{{"queue": imitated, "size": waiting, "available": len(slots),
		"idle": states["idle"], "working": states["busy"], "paused": len(slots) - states["idle"] - states["busy"],
		"failed": 0}})
	return nil
}

func (h *handler) authenticated(w http.ResponseWriter, r *http.Request) error {
	h.desk.Answer(w, r, http.StatusOK, nil)
	return nil
}
