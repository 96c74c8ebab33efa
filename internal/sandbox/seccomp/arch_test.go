package seccomp

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNumbers: golang.org/x/sys generates its numbers from the kernel's headers. Only internal/base/linux may
// import it; a test may read its source.
func TestNumbers(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatalf("find golang.org/x/sys: %v", err)
	}
	for _, arch := range bothArchs {
		t.Run(arch.String(), func(t *testing.T) {
			got := arch.numbers()
			path := filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_"+arch.String()+".go")
			want := numbersOf(t, path)
			for name, nr := range want {
				if newer := nr > got["rseq_slice_yield"]; newer || name == "arch_specific_syscall" {
					delete(want, name)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("numbers of %s (-x/sys +ours):\n%s", arch, diff)
			}
		})
	}
}

func numbersOf(t *testing.T, path string) map[string]uint32 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint32{}
	for _, m := range regexp.MustCompile(`(?m)^\s+SYS_(\w+)\s+= (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		nr, err := strconv.ParseUint(m[2], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.ToLower(m[1])] = uint32(nr)
	}
	if len(all) < 300 {
		t.Fatalf("%s has %d numbers; its form has changed", path, len(all))
	}
	return all
}
