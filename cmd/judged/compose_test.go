package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"judged/internal/base/config"
	"judged/internal/testkit"
)

const composeFile = "deploy/compose/compose.yaml"

// TestComposeSchema validates the compose file with the schema of the Compose Specification and its reference parser.
func TestComposeSchema(t *testing.T) {
	testkit.Need(t, testkit.Compose)
	file := filepath.Join(testkit.RepoRoot(t), filepath.FromSlash(composeFile))
	if out, err := exec.Command("compose-check", "-no-interpolation", file).CombinedOutput(); err != nil {
		t.Errorf("compose-check: %v\n%s", err, out)
	}
}

// TestComposeSettings loads the configuration of the front and the judge as judged does.
func TestComposeSettings(t *testing.T) {
	root := testkit.RepoRoot(t)
	var file struct {
		Services map[string]struct {
			Image   string
			Command []string
			Secrets []string
			Volumes []string
			Configs []struct{ Source string }
		}
		Configs          map[string]struct{ Content string }
		Secrets, Volumes map[string]any
	}
	if err := yaml.Unmarshal([]byte(readFile(t, filepath.Join(root, filepath.FromSlash(composeFile)))), &file); err != nil {
		t.Fatal(err)
	}
	for name, service := range file.Services {
		for _, c := range service.Configs {
			if file.Configs[c.Source].Content == "" {
				t.Errorf("%s: no configuration %q", name, c.Source)
			}
		}
		for _, secret := range service.Secrets {
			if file.Secrets[secret] == nil {
				t.Errorf("%s: no secret %q", name, secret)
			}
		}
		for _, v := range service.Volumes {
			source, _, _ := strings.Cut(v, ":")
			path := filepath.Join(root, filepath.Dir(composeFile), source)
			_, err := os.Stat(path)
			if _, named := file.Volumes[source]; !named && err != nil {
				t.Errorf("%s: neither a volume %q nor a file: %v", name, source, err)
			}
		}
	}
	secrets := t.TempDir()
	for _, name := range []string{"tokens", "judge"} {
		put(t, filepath.Join(secrets, name), "judge node "+strings.Repeat("0", 64)+"\n", 0o600)
	}
	load := func(t *testing.T, name string) config.Config {
		path := filepath.Join(t.TempDir(), name+".toml")
		put(t, path, strings.ReplaceAll(file.Configs[name].Content, "/run/secrets", secrets), 0o600)
		service := file.Services[name]
		if want := []string{"serve", "--config", "/etc/judged/" + name + ".toml"}; !slices.Equal(service.Command, want) {
			t.Errorf("command %q, want %q", service.Command, want)
		}
		a := &app{out: io.Discard, err: io.Discard}
		cmd := a.serveCommand()
		if err := cmd.ParseFlags([]string{"--config", path}); err != nil {
			t.Fatal(err)
		}
		a.config = path
		settings, err := a.serveConfig(cmd, "", false)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{name + ":" + settings.DataDir}; !slices.Equal(service.Volumes, want) {
			t.Errorf("volumes %q, want %q", service.Volumes, want)
		}
		for _, secret := range []string{settings.HTTP.TokenFile, settings.Fleet.TokenFile} {
			if secret != "" && !slices.Contains(service.Secrets, filepath.Base(secret)) {
				t.Errorf("secrets %q, want %q among them", service.Secrets, filepath.Base(secret))
			}
		}
		return settings
	}
	var judge, front config.Config
	t.Run("judge", func(t *testing.T) { judge = load(t, "judge") })
	t.Run("front", func(t *testing.T) {
		t.Setenv("JUDGED_DATABASE_URL", "postgres://judged:x@postgres/judged?sslmode=disable")
		front = load(t, "front")
	})
	want := []string{config.RoleFront, config.RoleJudge, "http://front:8080", "0.0.0.0:8080", "0.0.0.0:8080"}
	got := []string{front.Fleet.Role, judge.Fleet.Role, judge.Fleet.Front, front.HTTP.Listen, judge.HTTP.Listen}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roles and addresses -want +got\n%s", diff)
	}
}
