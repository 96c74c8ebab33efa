package daemon

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
)

// TestPages signs in, reads the pages of a daemon that judges, and hands out a link. Session and link survive a restart.
func TestPages(t *testing.T) {
	c := settings(t)
	c.HTTP.Listen = freePort(t)
	secrets := tokenFile(t, &c, "boss admin,submit,read")
	d := serving(t, c)
	d.Client.Token = secrets["boss"]
	d.submit("a", d.sum(1, true))
	if r := d.finish("a"); r.Verdict != api.WrongAnswer {
		t.Fatalf("verdict %s", r.Verdict)
	}
	link, err := d.Client.Link(d.ctx, "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	reader := &http.Client{Jar: jar, Transport: d.Client.HTTP.Transport}
	read := func(as *http.Client, path string) (status int, at, body string) {
		t.Helper()
		r, err := as.Get(d.Client.Base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, r.Request.URL.Path, string(text)
	}
	if _, at, _ := read(reader, "/"); at != "/sign-in" {
		t.Errorf("without a session the reader is at %s", at)
	}
	for token, want := range map[string]string{"wrong": "/sign-in", secrets["boss"]: "/jobs/a"} {
		r, err := reader.PostForm(d.Client.Base+"/sign-in", url.Values{"token": {token}, "next": {"/jobs/a"}})
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.Request.URL.Path != want {
			t.Errorf("signed in with the token %q: at %s", token, r.Request.URL.Path)
		}
	}
	slots, err := d.Client.Slots(d.ctx)
	if err != nil || len(slots) == 0 {
		t.Fatalf("slots %+v, %v", slots, err)
	}
	guest := &http.Client{Transport: d.Client.HTTP.Transport}
	pages := func() {
		t.Helper()
		for _, tt := range []struct {
			as     *http.Client
			path   string
			status int
			want   string
		}{
			{reader, "/", 200, `href="/slots/`},
			{reader, "/", 200, "Doctor: "},
			{reader, "/jobs", 200, `href="/jobs/a"`},
			{reader, "/jobs/a", 200, "Wrong answer on test "},
			{reader, "/slots/" + slots[0].CPUs, 200, "canary"},
			{reader, "/doctor", 200, "sched-isolated"},
			{guest, link.Path, 200, "Wrong answer on test "},
			{guest, strings.Replace(link.Path, "/a", "/b", 1), 404, ""},
			{guest, link.Path + "0", 404, ""},
		} {
			if status, _, body := read(tt.as, tt.path); status != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("%s: status %d, want %d with %q: %s", tt.path, status, tt.status, tt.want, body)
			}
		}
	}
	pages()
	d.drain()
	d = serving(t, c)
	d.Client.Token = secrets["boss"]
	pages()
}
