package languages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"judged/internal/testkit"
)

// noted returns a language whose compiler prints the file of its prepare command and tries to change it.
func noted(prepare string) string {
	return `[noted]
extensions = [".noted"]
artifact = "sources"
environment = ["PREPARED={prepared}"]
prepare = ["sh", "-c", "` + prepare + `"]
compile = ["sh", "-c", "cat $PREPARED/deep/note; touch $PREPARED/new 2> /dev/null && echo writable; exit 0"]
run = ["sh", "{program}"]
version = ["sh", "-c", "echo 1"]
`
}

// TestPrepared checks that a prepare command runs once, that compilers see its files and cannot change them, and that
// they are replaced if the command changes.
func TestPrepared(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	defer unix.Umask(unix.Umask(0o077)) // the umask of judged, which must not affect the files
	const write = "mkdir $PREPARED/deep && date +%s.%N > $PREPARED/deep/note"
	folder := t.TempDir()
	said := func(text, prepare string) string {
		c := openWith(t, folder, 1<<20, noted(prepare))
		r := compile(t, c, source(t, "noted", "", text))
		if r.Failure != "" || !strings.Contains(r.Output, ".") || strings.Contains(r.Output, "writable") {
			t.Fatalf("failure %q, the compiler said %q", r.Failure, r.Output)
		}
		return r.Output
	}
	first := said("1", write)
	if got := said("2", write); got != first {
		t.Errorf("prepared again: %q after %q", got, first)
	}
	if got := said("3", write+" && exit 0"); got == first {
		t.Errorf("another command is ignored: %q", got)
	}
	left, err := filepath.Glob(folder + "/prepared/noted/*")
	if err != nil || len(left) != 1 {
		t.Errorf("left after the change: %q, %v; want one folder", left, err)
	}
}

func TestPrepareFails(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	for _, tt := range []struct{ name, prepare, want string }{
		{"status", "echo no; exit 3", `compile noted: prepare noted: run "sh -c echo no; exit 3": the compiler exited with ` +
			`status 3: "no"; correct prepare of the language`},
		{"killed", "kill -9 $$", `compile noted: prepare noted: run "sh -c kill -9 $$": the compiler was ended by ` +
			`SIGKILL: ""; correct prepare of the language`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			c := openWith(t, folder, 1<<20, noted(tt.prepare))
			r, err := c.Compile(t.Context(), source(t, "noted", "", "1"))
			if err == nil {
				t.Fatalf("no error: %+v", r)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if left, err := os.ReadDir(folder + "/prepared"); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// TestPreparedTemporary checks that a single compilation does not wait for a prepare command if there is no cache.
func TestPreparedTemporary(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	c := openWith(t, "", 1<<20, noted("mkdir $PREPARED/deep && echo prepared > $PREPARED/deep/note"))
	var got []string
	for _, text := range []string{"1", "2"} {
		got = append(got, compile(t, c, source(t, "noted", "", text)).Output)
	}
	want := []string{"cat: /tmp/prepared/deep/note: No such file or directory", "prepared"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what two compilations see (-want +got):\n%s", diff)
	}
}
