package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/linux"
	"judged/internal/testkit"
)

const unitFile = "deploy/judged.service"

// TestUnitListsWhatIsNeeded compares the capabilities in the unit file with those that judged requires.
func TestUnitListsWhatIsNeeded(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testkit.RepoRoot(t), unitFile))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^CapabilityBoundingSet=(.*)$`).FindStringSubmatch(string(text))
	if line == nil {
		t.Fatal("the unit has no bounding set")
	}
	if diff := cmp.Diff(linux.Capabilities(), strings.Fields(line[1])); diff != "" {
		t.Errorf("judged needs, the unit gives (-want +got):\n%s", diff)
	}
}

// TestRefusesWithoutRights starts judged as root without some of the capabilities.
func TestRefusesWithoutRights(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	for _, tt := range []struct {
		name string
		cmd  func(t *testing.T) *exec.Cmd
		says string
	}{
		{"root of a user namespace", inUserNamespace,
			"open engine: judged is root in a user namespace, not on the host; start it as"},
		{"without CAP_SYS_ADMIN", without("CAP_SYS_ADMIN"),
			"open engine: judged is root without CAP_SYS_ADMIN; give it the capabilities of CapabilityBoundingSet"},
		{"without two", without("CAP_SYS_NICE", "CAP_MKNOD"),
			"open engine: judged is root without CAP_SYS_NICE, CAP_MKNOD; give it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := execute(t, tt.cmd(t))
			if got.code != exitFault || got.stdout != "" || !strings.HasPrefix(got.stderr, "judged: "+tt.says) ||
				strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, nothing, and one line with %q", got.code,
					got.stdout, got.stderr, exitFault, tt.says)
			}
		})
	}
}

func inUserNamespace(*testing.T) *exec.Cmd {
	cmd := command("run", "true")
	one := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
	cmd.SysProcAttr.Cloneflags, cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = syscall.CLONE_NEWUSER, one,
		one
	return cmd
}

// without returns the unit with fewer capabilities.
func without(names ...string) func(t *testing.T) *exec.Cmd {
	return func(t *testing.T) *exec.Cmd {
		text, err := os.ReadFile(filepath.Join(testkit.RepoRoot(t), unitFile))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "CapabilityBoundingSet=") {
				for _, name := range names {
					line = strings.Replace(line, name, "", 1)
				}
			}
			lines = append(lines, line)
		}
		path := filepath.Join(t.TempDir(), "judged.service")
		put(t, path, strings.Join(lines, ""), 0o644)
		return testkit.UnitCommand(t, path, "/proc/self/exe", "run", "true")
	}
}
