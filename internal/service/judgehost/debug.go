package judgehost

import (
	"bytes"
	"cmp"
	"context"
	"net/url"
	"strconv"
)

// debug answers requests of the server for more output of earlier judgings.
func (h *host) debug(ctx context.Context, tasks []task) {
	for _, t := range tasks {
		member, content, err := h.more(t)
		if err != nil {
			h.log.Warn("cannot send the output that the server requests; it has been deleted", "judgetask", string(t.ID),
				"error", err)
			continue
		}
		if err := h.client.addDebugInfo(ctx, h.name, t.ID, url.Values{member: {encoded(content)}}); err != nil {
			h.log.Error("cannot send the output that the server requests", "judgetask", string(t.ID), "error", err)
		}
	}
}

// more returns the complete output of a test, or an archive of the data of a job. DOMjudge has a script that archives a
// judgehost's folder. judged has no such folder, so it builds an archive with the same files.
func (h *host) more(t task) (member string, content []byte, err error) {
	if t.RunScript != "" {
		var packed bytes.Buffer
		err = h.history.archive(&packed, t.Job)
		return "full_debug", packed.Bytes(), err
	}
	pass, err := strconv.Atoi(cmp.Or(string(t.Pass), "1"))
	if err == nil {
		content, err = h.history.get(t.Job, testFile(t.Testcase, pass, "program.out"))
	}
	return "output_run", content, err
}
