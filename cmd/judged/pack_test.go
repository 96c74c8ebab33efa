package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
)

// outputIn runs a program in a folder and returns its stdout.
func outputIn(t *testing.T, dir string, command ...string) string {
	t.Helper()
	return runIn(t, dir, nil, command)
}

// reference holds the tested members of references between the parts of an image.
type reference struct{ Digest string }

// ociImage is the folder of an image.
type ociImage struct {
	t   *testing.T
	dir string
}

// path returns the path of a blob, and checks its digest.
func (i ociImage) path(r reference) string {
	i.t.Helper()
	name := strings.TrimPrefix(r.Digest, "sha256:")
	path := filepath.Join(i.dir, "blobs", "sha256", name)
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(readFile(i.t, path)))); got != name {
		i.t.Errorf("a blob with the digest %s is called %s", got, name)
	}
	return path
}

func (i ociImage) decode(path string, into any) {
	i.t.Helper()
	if err := json.Unmarshal([]byte(readFile(i.t, path)), into); err != nil {
		i.t.Fatalf("%s: %v", path, err)
	}
}

// unpack unpacks the layers of the image, and returns its command.
func (i ociImage) unpack(root string) []string {
	i.t.Helper()
	var index struct{ Manifests []reference }
	i.decode(filepath.Join(i.dir, "index.json"), &index)
	if len(index.Manifests) != 1 {
		i.t.Fatalf("manifests: %v", index.Manifests)
	}
	var manifest struct {
		Config reference
		Layers []reference
	}
	i.decode(i.path(index.Manifests[0]), &manifest)
	var config struct {
		Architecture string
		Config       struct{ Entrypoint, Cmd []string }
		RootFS       struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	i.decode(i.path(manifest.Config), &config)
	var contents []string
	for _, layer := range manifest.Layers {
		content := filepath.Join(i.t.TempDir(), "layer.tar")
		outputIn(i.t, "", "sh", "-c", `gzip -dc <"$0" >"$1"`, i.path(layer), content)
		contents = append(contents, "sha256:"+strings.Fields(outputIn(i.t, "", "sha256sum", content))[0])
		outputIn(i.t, "", "tar", "--extract", "--file", content, "--directory", root, "--exclude=./dev/*")
		if err := os.Remove(content); err != nil {
			i.t.Fatal(err)
		}
	}
	if diff := cmp.Diff(contents, config.RootFS.DiffIDs); diff != "" || config.Architecture != "amd64" {
		i.t.Errorf("for %s, digests of the layers -want +got\n%s", config.Architecture, diff)
	}
	return append(config.Config.Entrypoint, config.Config.Cmd...)
}

// TestImage builds the image on the minimal Debian, unpacks it, and runs its command.
func TestImage(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Debian)
	base, err := testkit.DebianRootPath()
	if err != nil {
		t.Fatal(err)
	}
	root := testkit.RepoRoot(t)
	outputIn(t, root, "make", "image", "VERSION=v1.0.0", "IMAGE_ROOT="+base)
	image := ociImage{t, t.TempDir()}
	outputIn(t, root, "tar", "--extract", "--file", "bin/judged_v1.0.0_amd64.oci.tar", "--directory", image.dir)
	d := &debian{t, t.TempDir()}
	words := image.unpack(d.root)
	info, err := os.Stat(filepath.Join(d.root, "var/lib/judged"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 65532 || owner.Gid != 65532 {
		t.Errorf("the data directory belongs to %d:%d, want the user of fronts", owner.Uid, owner.Gid)
	}
	testkit.HoldHostCPUs(t)
	cmd := d.command(append(words, "--listen", "127.0.0.1:0")...)
	url, _, exited := startUnit(t, cmd)
	if got := getStatus(t, url+"/healthz", ""); got != 200 {
		t.Errorf("GET /healthz: %d", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-exited; err != nil {
		t.Errorf("the daemon does not drain: %v", err)
	}
}

// sources copies the files of the repository into a folder, where make can run next to that of other tests.
func sources(t *testing.T, into string) string {
	t.Helper()
	outputIn(t, testkit.RepoRoot(t), "sh", "-c", `mkdir -p "$0" && git ls-files -z --cached --others --exclude-standard |
		tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory "$0" --touch`, into)
	return into
}

// TestRelease builds a release in two folders. Both must have the same bytes, and the list of modules must match the
// program.
func TestRelease(t *testing.T) {
	testkit.Need(t, testkit.Debian) // Debian implies gzip, dpkg and the network for nfpm
	t.Parallel()                    // uses its own folders
	var releases [2]map[string]string
	t.Run("build", func(t *testing.T) {
		for i := range releases {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				releases[i] = buildRelease(t, filepath.Join(t.TempDir(), strings.Repeat("x", 1+10*i)))
			})
		}
	})
	want := map[string]bool{"judged_1.0.0_amd64.deb": true, "judged_v1.0.0_amd64": true,
		"judged_v1.0.0_amd64.cdx.json": true}
	got := map[string]bool{}
	for name := range maps.Keys(releases[0]) {
		got[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files of a release -want +got\n%s", diff)
	}
	if diff := cmp.Diff(releases[0], releases[1]); diff != "" {
		t.Errorf("two builds differ:\n%s", diff)
	}
}

// buildRelease builds a release, checks its list of modules, and returns the checksums of its files.
func buildRelease(t *testing.T, into string) map[string]string {
	t.Helper()
	outputIn(t, sources(t, into), "make", "release", "VERSION=v1.0.0", "RELEASE_ARCHS=amd64")
	dir := filepath.Join(into, "bin", "release")
	outputIn(t, dir, "sha256sum", "--check", "--strict", "SHA256SUMS")
	sums := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(readFile(t, filepath.Join(dir, "SHA256SUMS"))), "\n") {
		sum, name, _ := strings.Cut(line, "  ")
		sums[name] = sum
	}
	checkModules(t, filepath.Join(dir, "judged_v1.0.0_amd64"))
	return sums
}

// checkModules compares the list of modules of a program with its build information.
func checkModules(t *testing.T, program string) {
	t.Helper()
	if said := outputIn(t, "", program, "version"); !strings.HasPrefix(said, "judged v1.0.0 ") {
		t.Errorf("judged version says %q", said)
	}
	want := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(
		outputIn(t, "", "go", "version", "-m", program), -1) {
		want[m[1]] = m[2]
	}
	if len(want) < 10 {
		t.Fatalf("go version -m names %d modules, want more", len(want))
	}
	var document struct {
		BOMFormat string `json:"bomFormat"`
		Metadata  struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal([]byte(readFile(t, program+".cdx.json")), &document); err != nil {
		t.Fatal(err)
	}
	about := document.Metadata.Component
	if about.Name != "judged" || about.Version != "v1.0.0" ||
		document.BOMFormat != "CycloneDX" {
		t.Errorf("the list is a %s of %+v", document.BOMFormat, about)
	}
	got := map[string]string{}
	for _, c := range document.Components {
		got[c.Name] = c.Version
	}
	if !strings.HasPrefix(got["std"], "go1.") {
		t.Errorf("version of the standard library: %q", got["std"])
	}
	delete(got, "std")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modules -go version -m +list\n%s", diff)
	}
}
