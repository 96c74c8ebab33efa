// The command go is a contest site with one problem, which judged judges. It keeps nothing itself: judged has the
// submissions, and a label says which are the site's. Run it with JUDGED_URL, JUDGED_TOKEN (scopes submit and read) and
// an address:
//
//	JUDGED_URL=http://127.0.0.1:8080 JUDGED_TOKEN=... go run . 127.0.0.1:8000
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
)

const site = "go-site"

// report has the members of a report that the site shows, and those of an error.
type report struct {
	ID, State, Verdict, Message string
	Labels                      map[string]string
	Tests                       []struct {
		Name, Verdict string
		CPUTime       int64 `json:"cpu_time_ns"`
	}
	Detail   string `json:"detail"`
	NextStep string `json:"next_step"`
}

type object = map[string]any

// sum is the problem: print the sum of two numbers.
var sum = []object{
	{"name": "1", "input": object{"text": "1 2\n"}, "answer": object{"text": "3\n"}},
	{"name": "2", "input": object{"text": "20 22\n"}, "answer": object{"text": "42\n"}},
	{"name": "3", "input": object{"text": "-5 5\n"}, "answer": object{"text": "0\n"}},
}

var pages = template.Must(template.New("").Parse(`{{define "list"}}<!doctype html><title>Contest</title>
<form method=post>Team <input name=team> Language <input name=language value=python>
<br><textarea name=source rows=12 cols=80></textarea><br><button>Submit</button></form>
<table>{{range .}}<tr><td>{{.Labels.team}}<td><a href="/{{.ID}}">{{or .Verdict .State}}</a>{{end}}</table>{{end}}
{{define "report"}}<!doctype html><title>Contest</title><h1>{{or .Verdict .State}}</h1><pre>{{.Message}}</pre>
<table>{{range .Tests}}<tr><td>{{.Name}}<td>{{.Verdict}}<td>{{.CPUTime}} ns{{end}}</table>{{end}}`))

// ask sends a request to judged and decodes the answer, of errors too.
func ask(method, path string, body, answer any) (status int, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequest(method, os.Getenv("JUDGED_URL")+path, bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	if body == nil {
		r.Body, r.ContentLength = nil, 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+os.Getenv("JUDGED_TOKEN"))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, json.NewDecoder(res.Body).Decode(answer)
}

// submit submits a program. The site chooses the ID, so that the request may be repeated.
func submit(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 100_000)
	job := object{"program": object{"text": r.FormValue("source")}, "language": r.FormValue("language"), "tests": sum,
		"labels": object{"site": site, "team": r.FormValue("team")}, "priority": "contest",
		"limits": object{"cpu_time_ms": 2000}}
	var answer report
	status, err := ask("PUT", "/v1/jobs/"+rand.Text(), job, &answer)
	if err != nil {
		return err
	}
	if status >= 400 {
		http.Error(w, answer.Detail+"; "+answer.NextStep, http.StatusUnprocessableEntity)
		return nil
	}
	http.Redirect(w, r, "/"+answer.ID, http.StatusSeeOther)
	return nil
}

// list shows all submissions of the site, newest first.
func list(w http.ResponseWriter, _ *http.Request) error {
	var all []report
	for after := ""; ; {
		var page struct {
			Jobs         []report
			Next, Detail string
		}
		query := url.Values{"label": {"site=" + site}, "limit": {"500"}, "after": {after}}
		status, err := ask("GET", "/v1/jobs?"+query.Encode(), nil, &page)
		if err == nil && status != http.StatusOK {
			err = errors.New(page.Detail)
		}
		if err != nil {
			return err
		}
		all = append(all, page.Jobs...)
		if after = page.Next; after == "" {
			return pages.ExecuteTemplate(w, "list", all)
		}
	}
}

// show shows a report. It is a long poll: the answer comes when the job has ended, or after the time.
func show(w http.ResponseWriter, r *http.Request) error {
	var found report
	status, err := ask("GET", "/v1/jobs/"+url.PathEscape(r.PathValue("id"))+"?wait=30s", nil, &found)
	if err == nil && status != http.StatusOK {
		http.Error(w, found.Detail, status)
		return nil
	}
	if err != nil {
		return err
	}
	return pages.ExecuteTemplate(w, "report", found)
}

func handle(pattern string, f func(http.ResponseWriter, *http.Request) error) {
	http.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			log.Print(err)
			http.Error(w, "The judge is away.", http.StatusBadGateway)
		}
	})
}

func main() {
	handle("POST /{$}", submit)
	handle("GET /{$}", list)
	handle("GET /{id}", show)
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/\n", l.Addr())
	log.Fatal(http.Serve(l, nil))
}
