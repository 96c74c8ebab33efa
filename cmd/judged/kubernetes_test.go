package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// manifest holds the tested members of a Kubernetes object. The schemas check the others.
type manifest struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
	Spec     struct {
		Selector map[string]any
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     podSpec
		}
		Ports []struct {
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		PublishNotReadyAddresses bool `yaml:"publishNotReadyAddresses"`
	}
}

type podSpec struct {
	Containers []container
	Volumes    []volume
}

type volume struct {
	Name      string
	ConfigMap *struct{ Name string } `yaml:"configMap"`
}

type mount struct {
	Name      string
	MountPath string `yaml:"mountPath"`
}

type container struct {
	Args  []string
	Env   []struct{ Name string }
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	StartupProbe   httpProbe `yaml:"startupProbe"`
	LivenessProbe  httpProbe `yaml:"livenessProbe"`
	ReadinessProbe httpProbe `yaml:"readinessProbe"`
	VolumeMounts   []mount   `yaml:"volumeMounts"`
}

type httpProbe struct {
	HTTPGet struct{ Path, Port, Scheme string } `yaml:"httpGet"`
}

// cluster holds the objects of deploy/kubernetes by kind and name.
type cluster map[string]manifest

func readCluster(t *testing.T) (cluster, []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testkit.RepoRoot(t), "deploy", "kubernetes", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("find manifests: %q, %v", files, err)
	}
	c := cluster{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var m manifest
			err := d.Decode(&m)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if m.Kind != "Namespace" && m.Metadata.Namespace != "judged" {
				t.Errorf("%s %s is in namespace %q", m.Kind, m.Metadata.Name, m.Metadata.Namespace)
			}
			c[m.Kind+" "+m.Metadata.Name] = m
		}
	}
	return c, files
}

// TestKubernetesSchemas validates the manifests with the schemas of the API. Unknown fields are errors.
func TestKubernetesSchemas(t *testing.T) {
	testkit.Need(t, testkit.Kubernetes)
	tools, err := testkit.KubernetesPath()
	if err != nil {
		t.Fatal(err)
	}
	_, files := readCluster(t)
	validate := exec.Command(filepath.Join(tools, "bin", "kubernetes-validate"), append([]string{"--strict", "--quiet"},
		files...)...)
	if text, err := validate.CombinedOutput(); err != nil || len(text) > 0 {
		t.Errorf("kubernetes-validate: %v\n%s", err, text)
	}
}

// TestKubernetesSettings loads the configuration of each container like judged, and compares it with the ports, probes
// and volumes of the manifests.
func TestKubernetesSettings(t *testing.T) {
	c, _ := readCluster(t)
	var fronts, judges config.Config
	t.Run("fronts", func(t *testing.T) { fronts = c.load(t, "Deployment judged-front") })
	t.Run("judges", func(t *testing.T) { judges = c.load(t, "DaemonSet judged-judge") })
	got := []string{fronts.Fleet.Role, judges.Fleet.Role, fronts.Pool(judges.Slots.Pool).DecidedBy, judges.Fleet.Node}
	if diff := cmp.Diff([]string{config.RoleFront, config.RoleJudge, fronts.Slots.Pool, "node-1"}, got); diff != "" {
		t.Errorf("roles, who decides for the pool of the judges, name of a judge -want +got\n%s", diff)
	}
	// A front is not ready before a judge has registered, so the service for judges must include fronts that are not
	// ready.
	host, _, _ := strings.Cut(strings.TrimPrefix(judges.Fleet.Front, "https://"), ".judged.svc")
	if s := c["Service "+host]; !s.Spec.PublishNotReadyAddresses || len(s.Spec.Ports) != 1 || s.Spec.Ports[0].Port != 443 {
		t.Errorf("judges dial %s: service %+v", judges.Fleet.Front, s)
	}
	labels := c["Deployment judged-front"].Spec.Template.Metadata.Labels
	for _, name := range []string{"Service judged-front", "Service judged-front-judges",
		"PodDisruptionBudget judged-front",
		"Deployment judged-front"} {
		selector := c[name].Spec.Selector
		if inner, ok := selector["matchLabels"].(map[string]any); ok {
			selector = inner
		}
		selected := map[string]string{}
		for key, value := range selector {
			selected[key], _ = value.(string)
		}
		if diff := cmp.Diff(labels, selected); diff != "" {
			t.Errorf("%s does not select the fronts -labels +selector\n%s", name, diff)
		}
		for _, p := range c[name].Spec.Ports {
			if want := c["Deployment judged-front"].Spec.Template.Spec.Containers[0].Ports[0].Name; p.TargetPort != want {
				t.Errorf("%s: target port %q, want %q", name, p.TargetPort, want)
			}
		}
	}
}

// load reads the settings of a workload from its flags, environment and configuration file.
func (c cluster) load(t *testing.T, workload string) config.Config {
	t.Helper()
	pod := c[workload].Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.Containers[0].Args) == 0 || len(pod.Containers[0].Ports) != 1 {
		t.Fatalf("%s: containers %+v", workload, pod.Containers)
	}
	box := pod.Containers[0]
	root := pod.mount(t, c)
	values := map[string]string{"JUDGED_FLEET_NODE": "node-1",
		"JUDGED_DATABASE_URL": "postgres://judged:x@db.example.org/judged"}
	for _, e := range box.Env {
		t.Setenv(e.Name, values[e.Name])
	}
	a := &app{out: io.Discard, err: io.Discard}
	args := make([]string, len(box.Args))
	for i, arg := range box.Args {
		arg = strings.ReplaceAll(arg, "$(JUDGED_FLEET_NODE)", "node-1")
		args[i] = strings.Replace(arg, "/etc/judged", root, 1)
	}
	cmd, rest, err := a.rootCommand(args).Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil || cmd.Name() != "serve" || len(cmd.Flags().Args()) > 0 {
		t.Fatalf("%s: arguments %q: %v", workload, box.Args, err)
	}
	settings, err := a.serveConfig(cmd, "", false)
	if err != nil {
		t.Fatalf("%s: %v", workload, err)
	}
	box.check(t, workload, settings)
	return settings
}

// mount returns a folder with the files that the pod has in /etc/judged.
func (p podSpec) mount(t *testing.T, c cluster) string {
	t.Helper()
	root := t.TempDir()
	token := "node-1 metrics " + strings.Repeat("0", 64) + "\n"
	for _, m := range p.Containers[0].VolumeMounts {
		inside, ours := strings.CutPrefix(m.MountPath, "/etc/judged/")
		volume := slices.IndexFunc(p.Volumes, func(v volume) bool { return v.Name == m.Name })
		if volume < 0 {
			t.Errorf("%s has no volume %q", m.MountPath, m.Name)
		}
		if volume < 0 || !ours {
			continue
		}
		files := map[string]string{"tokens": token, "tls.crt": "", "tls.key": "", "ca.crt": "", "node-1": ""}
		if from := p.Volumes[volume].ConfigMap; from != nil {
			files = c["ConfigMap "+from.Name].Data
		}
		for name, text := range files {
			path := filepath.Join(root, inside, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "/etc/judged", root)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// check compares ports, probes and volumes with the settings.
func (c container) check(t *testing.T, workload string, settings config.Config) {
	t.Helper()
	port := c.Ports[0]
	if want := fmt.Sprint("0.0.0.0:", port.ContainerPort); settings.HTTP.Listen != want {
		t.Errorf("%s listens on %s, want %s", workload, settings.HTTP.Listen, want)
	}
	scheme := ""
	if settings.HTTP.CertFile != "" {
		scheme = "HTTPS"
	}
	paths := openPaths(t)
	for name, p := range map[string]httpProbe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		var want httpProbe
		want.HTTPGet.Path, want.HTTPGet.Port, want.HTTPGet.Scheme = name, port.Name, scheme
		if diff := cmp.Diff(want, p); diff != "" || paths[name] == nil {
			t.Errorf("%s: probe -want +got\n%s\nin the API: %s", workload, diff, paths[name])
		}
	}
	if diff := cmp.Diff(c.LivenessProbe, c.StartupProbe); diff != "" {
		t.Errorf("%s: probe at the start -liveness +startup\n%s", workload, diff)
	}
	if !slices.ContainsFunc(c.VolumeMounts, func(m mount) bool { return m.MountPath == settings.DataDir }) {
		t.Errorf("%s: nothing is mounted at %s", workload, settings.DataDir)
	}
}

// openPaths returns the paths of the OpenAPI document; the tests of httpapi compare that document with the routes.
func openPaths(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.RepoRoot(t), "internal", "service", "httpapi", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Paths map[string]json.RawMessage }
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document.Paths
}
