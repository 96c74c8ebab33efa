package judgehost

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"judged/internal/api"
)

// history keeps the data of judged jobs for later requests, in a folder for each job. It removes the oldest jobs first,
// and everything when judged exits.
type history struct {
	folder string
	most   int64 // bytes

	mu    sync.Mutex       // guards the fields below
	jobs  []stringOrNumber // the most recently written job is the last
	bytes map[stringOrNumber]int64
	sum   int64
}

func newHistory(folder string, most int64) *history {
	return &history{folder: folder, most: most, bytes: map[stringOrNumber]int64{}}
}

// put writes a file of a job.
func (h *history) put(job stringOrNumber, name string, content []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	const each = 4 << 10
	size := int64(len(content)) + each
	if h.bytes[job]+size > h.most {
		return fmt.Errorf("job %s has more than %d bytes of outputs", job, h.most)
	}
	path := filepath.Join(h.folder, string(job), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	h.sum += size
	h.bytes[job] += size
	h.jobs = append(slices.DeleteFunc(h.jobs, func(j stringOrNumber) bool { return j == job }), job)
	for h.sum > h.most {
		oldest := h.jobs[0]
		if err := os.RemoveAll(filepath.Join(h.folder, string(oldest))); err != nil {
			return err
		}
		h.sum -= h.bytes[oldest]
		delete(h.bytes, oldest)
		h.jobs = h.jobs[1:]
	}
	return nil
}

// get reads a file of a job.
func (h *history) get(job stringOrNumber, name string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return os.ReadFile(filepath.Join(h.folder, string(job), name))
}

// maxArchive is the most that an archive may have, in bytes: it is sent from memory.
const maxArchive = 256 << 20

// archive writes all files of a job as a compressed archive.
func (h *history) archive(to io.Writer, job stringOrNumber) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch size := h.bytes[job]; {
	case size == 0:
		return fmt.Errorf("no outputs of job %q are stored", string(job)) // "" would be the folder of all jobs
	case size > maxArchive:
		return fmt.Errorf("job %s has %d bytes of outputs; at most %d are sent", job, size, maxArchive)
	}
	root, err := os.OpenRoot(filepath.Join(h.folder, string(job)))
	if err != nil {
		return err
	}
	defer root.Close()
	packed := gzip.NewWriter(to)
	w := tar.NewWriter(packed)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root.FS(), name)
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: string(job) + "/" + name, Mode: 0o644, Size: int64(len(content))})
		}
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	})
	return errors.Join(err, w.Close(), packed.Close())
}

// testFile returns the name of a file of a pass of a test.
func testFile(testcase stringOrNumber, pass int, name string) string {
	return fmt.Sprintf("testcase%05s/%d/%s", testcase, pass, name)
}

// remember stores the output and the report of a run.
func (h *host) remember(r run) {
	for name, content := range map[string][]byte{
		"program.out": r.kept(api.StdoutStream).Content, "program.err": r.kept(api.StderrStream).Content,
		"system.out": []byte(r.explanation()), "program.meta": []byte(r.metadata()),
		"compare.meta": []byte(r.compareMetadata()), "judgemessage.txt": []byte(judgeText(or(r.report.Checker))),
	} {
		if err := h.history.put(r.task.Job, testFile(r.task.Testcase, r.pass(), name), content); err != nil {
			h.log.Warn("cannot store the output of a test; the server cannot request it later", "error", err)
			return
		}
	}
}

// rememberCompilation stores the sources of a job and the output of the compile script.
func (h *host) rememberCompilation(t task, sources []source, c compilation) {
	err := h.history.put(t.Job, "compile.out", c.Output)
	for _, s := range sources {
		content, readErr := os.ReadFile(s.path)
		err = errors.Join(err, readErr, h.history.put(t.Job, "compile/"+s.name, content))
	}
	if err != nil {
		h.log.Warn("cannot store the sources of a submission; the server cannot request them later", "error", err)
	}
}
