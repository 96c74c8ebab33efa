package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"mime/multipart"
	"os"
	"strings"
	"testing"

	"judged/internal/api"
)

const jsonType = "application/json"

func sameID(t *testing.T, d *instance) {
	body := d.encode(d.sum(10, false))
	// The same job in a different form: its members in another order, its text in base64.
	spelled := d.sum(10, false)
	spelled.Tests[0].Answer = &api.File{Base64: new("MTE=")}
	for _, step := range []struct {
		name string
		body []byte
		want int
	}{
		{"first", body, 202},
		{"again", body, 200},
		{"in other words", d.encode(spelled), 200},
		{"another", d.encode(d.sum(11, false)), 409},
	} {
		a := d.ask("PUT", "/v1/jobs/same", step.body, "Content-Type", jsonType)
		if a.status != step.want {
			t.Errorf("%s: status %d, want %d: %s", step.name, a.status, step.want, a.body)
		}
		if step.want < 300 && a.header.Get("Location") != "/v1/jobs/same" {
			t.Errorf("%s: Location %q", step.name, a.header.Get("Location"))
		}
	}
	if r := d.finish("same"); r.Verdict != api.Accepted || r.Attempt != 1 {
		t.Errorf("verdict %s in attempt %d", r.Verdict, r.Attempt)
	}
	a := d.ask("PUT", "/v1/jobs/same", body, "Content-Type", jsonType)
	var r api.Report
	if err := json.Unmarshal(a.body, &r); err != nil || a.status != 200 || r.State != api.Done {
		t.Errorf("after its end: status %d, %s", a.status, a.body)
	}
}

func idempotencyKey(t *testing.T, d *instance) {
	body := d.encode(d.sum(12, false))
	post := func(body []byte, want int) string {
		t.Helper()
		a := d.ask("POST", "/v1/jobs", body, "Content-Type", jsonType, "Idempotency-Key", "a key, any text: ü")
		if a.status != want {
			t.Fatalf("status %d, want %d: %s", a.status, want, a.body)
		}
		return a.header.Get("Location")
	}
	first := post(body, 202)
	if again := post(body, 200); again != first || first == "" {
		t.Errorf("Location %q at first, %q then", first, again)
	}
	post(d.encode(d.sum(13, false)), 409)
	if r := d.finish(strings.TrimPrefix(first, "/v1/jobs/")); r.Verdict != api.Accepted {
		t.Errorf("verdict %s", r.Verdict)
	}
	a, b := d.ask("POST", "/v1/jobs", body, "Content-Type", jsonType), d.ask("POST", "/v1/jobs", body, "Content-Type",
		jsonType)
	if a.status != 202 || b.status != 202 || a.header.Get("Location") == b.header.Get("Location") {
		t.Errorf("without a key: %d %q and %d %q, want two jobs", a.status, a.header.Get("Location"), b.status,
			b.header.Get("Location"))
	}
}

func multipartJob(t *testing.T, d *instance) {
	elf, err := os.ReadFile(binary(t, "sum/AC-sum.c"))
	if err != nil {
		t.Fatal(err)
	}
	spec := api.Job{
		Program: api.File{Part: "elf"},
		Tests:   []api.Test{{Name: "1", Input: &api.File{Part: "in"}, Answer: text("5")}},
	}
	send := func(id string, parts map[string][]byte) answer {
		t.Helper()
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for name, content := range parts {
			part, err := w.CreateFormFile(name, name+".bin")
			if err != nil {
				t.Fatal(err)
			}
			part.Write(content) // written to memory
		}
		w.Close()
		return d.ask("PUT", "/v1/jobs/"+id, body.Bytes(), "Content-Type", w.FormDataContentType())
	}
	if a := send("parts", map[string][]byte{"job": d.encode(spec), "elf": elf,
		"in": []byte("2\n2 3\n")}); a.status != 202 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	if r := d.finish("parts"); r.Verdict != api.Accepted {
		t.Errorf("verdict %s: %s", r.Verdict, r.Message)
	}
	a := send("parts-2", map[string][]byte{"job": d.encode(spec), "in": []byte("1\n2\n")})
	if a.status != 400 || !strings.Contains(a.problem.Detail, "elf") {
		t.Errorf("a part is missing: %d %s, want 400 that names it", a.status, a.body)
	}
}

func badSubmissions(t *testing.T, d *instance) {
	digest := hex.EncodeToString(sha256.New().Sum(nil))
	good := string(d.encode(d.sum(1, false)))
	for _, tt := range []struct {
		name, kind, body string
		status           int
		names            string // what the response must name
	}{
		{"unknown key", jsonType, `{"programme": {}, ` + good[1:], 400, "programme"},
		{"unknown key deep inside", jsonType, strings.Replace(good, `"tests":[{`, `"tests":[{"inptu":1,`, 1), 400,
			"tests[0].inptu"},
		{"not JSON", jsonType, `{"program": `, 400, "JSON"},
		{"no tests", jsonType, `{"program": {"text": "x"}}`, 400, "tests"},
		{"negative limit", jsonType, `{"limits": {"cpu_time_ms": -1}, ` + good[1:], 400, "limits.cpu_time_ms"},
		{"zero limit", jsonType, `{"limits": {"memory_bytes": 0}, ` + good[1:], 400, "limits.memory_bytes"},
		{"limit too large", jsonType, `{"limits": {"cpu_time_ms": 600000}, ` + good[1:], 400, "60000"},
		{"unknown checker", jsonType, `{"checker": {"kind": "oracle"}, ` + good[1:], 400, "oracle"},
		{"unknown priority", jsonType, `{"priority": "first", ` + good[1:], 400, "priority"},
		{"missing blob", jsonType, `{"program": {"blob": "` + digest + `"}, "tests": [{"name": "1"}]}`, 422, digest},
		{"body too large", jsonType, `{"program": {"text": "` + strings.Repeat("x", 65<<10) + `"}}`, 413, "65536"},
		{"another type", "text/plain", good, 415, "text/plain"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := d.in(t).ask("PUT", "/v1/jobs/bad", []byte(tt.body), "Content-Type", tt.kind)
			if a.status != tt.status || !strings.Contains(string(a.body), tt.names) || a.problem.NextStep == "" {
				t.Errorf("status %d, want %d naming %q and the next step:\n%s", a.status, tt.status, tt.names, a.body)
			}
		})
	}
	if a := d.ask("GET", "/v1/jobs/bad", nil); a.status != 404 {
		t.Errorf("a refused job is there: %s", a.body)
	}
	if a := d.ask("PUT", "/v1/jobs/.hidden", []byte(good), "Content-Type", jsonType); a.status != 400 {
		t.Errorf("bad id: %d %s, want 400", a.status, a.body)
	}
}

func uploads(t *testing.T, d *instance) {
	content := []byte("an input that nobody has sent before")
	sum := sha256.Sum256(content)
	path := "/v1/blobs/" + hex.EncodeToString(sum[:])
	for _, step := range []struct {
		name, method string
		body         []byte
		want         int
	}{
		{"before", "HEAD", nil, 404},
		{"other content", "PUT", []byte("not it"), 422},
		{"still not there", "GET", nil, 404},
		{"new", "PUT", content, 201},
		{"again", "PUT", content, 200},
		{"after", "HEAD", nil, 200},
		{"too large", "PUT", make([]byte, 5<<20), 413},
	} {
		if a := d.ask(step.method, path, step.body); a.status != step.want {
			t.Errorf("%s: status %d, want %d: %s", step.name, a.status, step.want, a.body)
		}
	}
	if a := d.ask("GET", path, nil); a.status != 200 || !bytes.Equal(a.body, content) {
		t.Errorf("get: %d %q", a.status, a.body)
	}
}
