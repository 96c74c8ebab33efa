package judgehost

import (
	"bytes"
	"cmp"
	"context"
	"net/url"
	"strconv"
)

// debug answers requests for more about what was judged here.
func (h *host) debug(ctx context.Context, tasks []task) {
	for _, t := range tasks {
		member, content, err := h.more(t)
		if err != nil {
			h.log.Warn("cannot send what the server asks for; it is no longer here", "judgetask", string(t.ID), "error", err)
			continue
		}
		if err := h.client.addDebugInfo(ctx, h.name, t.ID, url.Values{member: {encoded(content)}}); err != nil {
			h.log.Error("cannot send what the server asks for", "judgetask", string(t.ID), "error", err)
		}
	}
}

// more is the whole output of a test, or an archive of all that is known of a job. The server has a script that makes
// such archives of a judgehost's folder; judged has no such folder, and makes one with the same files.
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
