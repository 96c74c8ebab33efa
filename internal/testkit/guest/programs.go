package guest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// HostPrograms returns programs of this host for a guest, and the libraries that they load, by their path
// there.
func HostPrograms(t testing.TB, names ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range names {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		files["/bin/"+name] = program
		out, err := exec.Command("ldd", program).Output()
		if err != nil {
			t.Fatalf("ldd %s: %v", program, err)
		}
		for word := range strings.FieldsSeq(string(out)) {
			switch library := filepath.Base(word); {
			case !strings.HasPrefix(word, "/"):
			case strings.HasPrefix(library, "ld-linux"):
				files[word] = word
			default: // a guest has no per-architecture folders, and all loaders search here
				files["/usr/lib/"+library] = word
			}
		}
	}
	return files
}
