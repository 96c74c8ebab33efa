package guestlab

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// TestPlainUnit runs the daemon with the privileges and limits of judged.service, with its group delegated by
// cgroup v2.
func TestPlainUnit(t *testing.T) {
	const path = "/data/judged.service"
	u, err := testkit.ReadUnit(path)
	if err != nil {
		t.Fatal(err)
	}
	before := look(t)
	t.Run("unit", func(t *testing.T) {
		cmd := testkit.UnitCommand(t, path, judged, "serve", "--listen", "127.0.0.1:0", "--data-dir", u.StateDirectory)
		stderr := new(bytes.Buffer)
		cmd.Stderr = stderr
		d := start(t, cmd, stderr)
		rights := map[string]string{}
		for key := range u.Status() {
			rights[key] = status(t, d.pid(), key)
		}
		if diff := cmp.Diff(u.Status(), rights); diff != "" {
			t.Errorf("its rights (-want +got):\n%s", diff)
		}
		group := fmt.Sprintf("/sys/fs/cgroup/judges-%d.service", os.Getpid())
		if diff := cmp.Diff([]string{group + "/judged-" + d.pid()}, trees(t)); diff != "" {
			t.Errorf("its trees of groups (-want +got):\n%s", diff)
		}
		if got := d.judge(t, "sum", programs+"submissions/sum/AC-sum", "2\n1 2\n", "3\n"); got != api.Accepted {
			t.Errorf("verdict %s, want AC", got)
		}
		if got := d.judge(t, "spin", programs+"submissions/sum/TLE-spin", "", ""); got != api.TimeLimit {
			t.Errorf("verdict %s, want TLE", got)
		}
		d.stop(t)
	})
	before.compare(t)
}

// judge submits a job with one test and returns its verdict.
func (d *daemon) judge(t *testing.T, id, program, input, answer string) api.Verdict {
	t.Helper()
	digest, err := d.PutBlobFile(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	test := api.Test{Name: "1", Input: &api.File{Text: &input}, Answer: &api.File{Text: &answer}}
	j := api.Job{Program: api.File{Blob: digest}, Tests: []api.Test{test}, Limits: api.Limits{CPUTimeMS: 3000}}
	if _, err := d.Submit(t.Context(), id, j); err != nil {
		t.Fatal(err)
	}
	r, err := d.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict == api.InternalError {
		t.Logf("%s: %s", id, r.Message)
	}
	return r.Verdict
}

// trees returns the groups of judged processes, without their start times and pid namespaces.
func trees(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(cgroups, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "judged-") {
			process := strings.SplitN(d.Name(), "-", 3)
			found = append(found, filepath.Join(filepath.Dir(path), "judged-"+process[1]))
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
