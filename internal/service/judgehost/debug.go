package judgehost

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"judged/internal/base/units"
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

// writeNotice writes an archive that says why it has no data: without an answer, the jury would wait for ever.
func writeNotice(to io.Writer, reason error) error {
	text := fmt.Sprintf("judged has no data for this debug package: %s. It keeps data since it was started, up to %s, and "+
		"sends at most %s; see deploy/DOMJUDGE.md. Judge the submission again to get its data.\n", reason,
		units.Bytes(historyBytes), units.Bytes(maxArchive))
	packed := gzip.NewWriter(to)
	w := tar.NewWriter(packed)
	err := w.WriteHeader(&tar.Header{Name: "README", Mode: 0o644, Size: int64(len(text))})
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return errors.Join(err, w.Close(), packed.Close())
}

// more returns the complete output of a test, or an archive of the data of a job. DOMjudge has a script that archives a
// judgehost's folder. judged has no such folder, so it builds an archive with the same files.
func (h *host) more(t task) (member string, content []byte, err error) {
	if t.RunScript != "" {
		var packed bytes.Buffer
		if err = h.history.archive(&packed, t.Job); err != nil {
			h.log.Warn("the debug package that the server requests has no data of the job", "job", string(t.Job), "error",
				err)
			packed.Reset()
			err = writeNotice(&packed, err)
		}
		return "full_debug", packed.Bytes(), err
	}
	pass, err := strconv.Atoi(cmp.Or(string(t.Pass), "1"))
	if err == nil {
		content, err = h.history.get(t.Job, testFile(t.Testcase, pass, "program.out"))
	}
	return "output_run", content, err
}
