package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"judged/internal/testkit"
)

// apiToken is the token of the daemon under test.
const apiToken = "token of a test"

// startAPI starts a daemon that requires a token. It returns its URL and the path of its OpenAPI document.
func startAPI(t *testing.T) (url, document string) {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens")
	line := fmt.Sprintf("test submit,read,admin,metrics %x\n", sha256.Sum256([]byte(apiToken)))
	if err := os.WriteFile(tokens, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	url = startDaemon(t, "--token-file", tokens)
	res, err := http.Get(url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	document = filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(document, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return url, document
}

// TestGeneratedClients generates a client from the OpenAPI document in each language, compiles it with a program that
// uses it, and judges a job. The limit of the job in nanoseconds needs more than 32 bits.
func TestGeneratedClients(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Java, testkit.Node, testkit.Generators)
	t.Parallel() // most of the time is used by generators and compilers
	tools, err := testkit.GeneratorsPath()
	if err != nil {
		t.Fatal(err)
	}
	url, document := startAPI(t)
	python := filepath.Join(tools, "python/bin/python")
	modules := filepath.Join(tools, "typescript/node_modules")
	generator, libraries := jars(t, filepath.Join(tools, "java"))
	for _, tt := range []struct {
		language string
		steps    [][]string
	}{
		{"python", [][]string{
			{python, "-m", "openapi_python_client", "generate", "--meta", "none", "--path", document, "--output-path",
				"judged_client"},
			{python, "run.py"},
		}},
		{"go", [][]string{
			{"mkdir", "generated"},
			{"go", "tool", "oapi-codegen", "-generate", "types,client,skip-prune", "-package", "generated", "-o",
				"generated/client.go", document},
			{"go", "run", "."},
		}},
		{"typescript", [][]string{
			{"ln", "-s", modules, "node_modules"},
			{"node", "node_modules/openapi-typescript/bin/cli.js", document, "-o", "schema.d.ts"},
			{"node", "node_modules/typescript/bin/tsc"},
			{"node", "run.js"},
		}},
		{"java", [][]string{
			{"java", "-jar", generator, "generate", "-i", document, "-g", "java", "--library", "native", "-o",
				"generated", "--invoker-package", "judged.client",
				"--api-package", "judged.client.api", "--model-package", "judged.client.model", "--global-property",
				"apiTests=false,modelTests=false,skipFormModel=false",
				"--additional-properties", "openApiNullable=false,useJakartaEe=true"},
			{"javac", "-d", "classes", "-cp", libraries, "-sourcepath", "generated/src/main/java", "Run.java"},
			{"java", "-cp", "classes:" + libraries, "Run"},
		}},
	} {
		t.Run(tt.language, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(testkit.RepoRoot(t), "testdata/clients",
				tt.language))); err != nil {
				t.Fatal(err)
			}
			var said string
			for _, step := range tt.steps {
				said = runIn(t, dir, []string{"JUDGED_URL=" + url, "JUDGED_TOKEN=" + apiToken}, step)
			}
			if want := "AC 3000000000 urn:judged:not-found"; strings.TrimSpace(said) != want {
				t.Errorf("it said %q, want %q", said, want)
			}
		})
	}
}

// TestSchemathesis checks the daemon's responses to valid and invalid requests against the OpenAPI document. It does
// not drain slots, because jobs could not be judged without one.
func TestSchemathesis(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Generators)
	t.Parallel() // measures nothing
	tools, err := testkit.GeneratorsPath()
	if err != nil {
		t.Fatal(err)
	}
	url, document := startAPI(t)
	// The first request for the list waits for the versions of all compilers.
	if status := getStatus(t, url+"/v1/languages", apiToken); status != http.StatusOK {
		t.Fatalf("GET /v1/languages: %d", status)
	}
	hooks := filepath.Join(testkit.RepoRoot(t), "testdata/clients/python")
	runIn(t, t.TempDir(), []string{"JUDGED_URL=" + url, "JUDGED_TOKEN=" + apiToken, "SCHEMATHESIS_HOOKS=hooks",
		"PYTHONPATH=" + hooks, "PYTHONDONTWRITEBYTECODE=1"}, []string{
		filepath.Join(tools, "python/bin/python"), "-m", "schemathesis.cli", "run", document, "--url", url, "--header",
		"Authorization: Bearer " + apiToken,
		"--checks", "all", "--phases", "examples,coverage,fuzzing", "--max-examples", "5", "--seed", "1",
		"--request-timeout", "90",
		// The feed of all events does not end.
		"--exclude-path-regex", "/(un)?drain$|^/v1/events$", "--no-color",
	})
}

// jars returns the generator, which includes its own libraries, and the class path of the generated code.
func jars(t *testing.T, dir string) (generator, libraries string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(all, func(path string) bool {
		return strings.HasPrefix(filepath.Base(path), "openapi-generator-cli-")
	})
	if at < 0 {
		t.Fatalf("no generator among %q", all)
	}
	return all[at], strings.Join(slices.Delete(slices.Clone(all), at, at+1), ":")
}

// runIn runs a program in a folder and returns its stdout.
func runIn(t *testing.T, dir string, environment, command []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environment...)
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", strings.Join(command, " "), err, out, errors.String())
	}
	return string(out)
}
