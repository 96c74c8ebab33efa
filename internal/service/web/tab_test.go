package web

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"judged/internal/testkit"
)

// tabPatience is how long an answer of the browser may take on a busy machine.
const tabPatience = 3 * time.Minute

// tab is a page in its own headless Chromium, controlled over the pipe of the DevTools protocol. The browser is
// closed when the test ends.
type tab struct {
	t       testing.TB
	out     *os.File
	in      *bufio.Reader
	pipe    *os.File // underlying file of in, for deadlines
	session string
	last    int // number of the last command
	errors  []string
}

// openTab starts a browser with an empty page. The browser can connect only to this machine.
func openTab(t testing.TB) *tab {
	t.Helper()
	testkit.Need(t, testkit.Chromium)
	toBrowser, out := pipe(t)
	pipe, fromBrowser := pipe(t)
	// Not t.TempDir: processes of the browser may write while it is removed.
	dir, err := os.MkdirTemp("", "judged-browser-")
	if err != nil {
		t.Fatalf("make a folder for chromium: %v", err)
	}
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--remote-debugging-pipe", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		os.RemoveAll(dir)
		t.Fatalf("start chromium: %v", err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &tab{t: t, out: out, pipe: pipe, in: bufio.NewReader(pipe)}
	t.Cleanup(func() {
		b.stop(cmd)
		testkit.WaitFor(t, tabPatience, "the folder of chromium to be removed",
			func() bool { return os.RemoveAll(dir) == nil })
	})
	b.attach()
	return b
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatalf("make pipe: %v", err)
	}
	return r, w
}

// stop closes the browser, and kills its process group if it does not exit.
func (b *tab) stop(cmd *exec.Cmd) {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	b.session = ""
	b.send("Browser.close", nil)
	select {
	case <-ended:
	case <-time.After(tabPatience):
		b.t.Error("chromium does not end; it is killed")
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // remaining processes of the group
	b.out.Close()
	b.pipe.Close()
}

// attach attaches to the empty page. All commands use its session.
func (b *tab) attach() {
	var created struct {
		TargetID string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &created)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": created.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.call("Log.enable", nil, nil)
	b.call("Runtime.enable", nil, nil)
	b.call("Page.enable", nil, nil)
}

// Dark makes the page dark or light, as the reader prefers.
func (b *tab) Dark(dark bool) {
	value := "light"
	if dark {
		value = "dark"
	}
	b.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": value}}}, nil)
}

// Script permits or forbids the scripts of pages that are opened from now on.
func (b *tab) Script(allowed bool) {
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": !allowed}, nil)
}

// Errors returns the errors that the console has shown since the last call.
func (b *tab) Errors() []string {
	b.call("Runtime.evaluate", map[string]any{"expression": "0"}, nil) // events of what has happened precede its answer
	all := b.errors
	b.errors = nil
	return all
}

// note records an event that is an error.
func (b *tab) note(method string, params json.RawMessage) {
	var p struct {
		Type   string
		Entry  struct{ Level, Text, URL string }
		Args   []struct{ Value, Description any }
		Thrown struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		b.t.Fatalf("%s: %v in %q", method, err, params)
	}
	switch {
	case method == "Log.entryAdded" && p.Entry.Level == "error":
		b.errors = append(b.errors, p.Entry.Text+" "+p.Entry.URL)
	case method == "Runtime.consoleAPICalled" && p.Type == "error":
		b.errors = append(b.errors, fmt.Sprint(p.Args))
	case method == "Runtime.exceptionThrown":
		b.errors = append(b.errors, p.Thrown.Text+" "+p.Thrown.Exception.Description)
	}
}

// Resize sets the size of the page in CSS pixels.
func (b *tab) Resize(width, height int) {
	b.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Go opens an address.
func (b *tab) Go(url string) {
	b.call("Page.navigate", map[string]any{"url": url}, nil)
}

// Eval decodes the value of a JavaScript expression into result.
func (b *tab) Eval(expression string, result any) {
	b.t.Helper()
	if !b.evaluate(expression, result) {
		b.t.Fatalf("evaluate %s: %s", expression, navigated)
	}
}

// evaluate is like Eval, but returns false if another page replaces this one meanwhile.
func (b *tab) evaluate(expression string, result any) bool {
	b.t.Helper()
	var answer struct {
		Result    struct{ Value json.RawMessage }
		Exception *struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	failed := b.try("Runtime.evaluate",
		map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	switch {
	case failed == navigated:
		return false
	case failed != "":
		b.t.Fatalf("evaluate %s: %s", expression, failed)
	}
	if answer.Exception != nil {
		b.t.Fatalf("evaluate %s: %s %s", expression, answer.Exception.Text, answer.Exception.Exception.Description)
	}
	if err := json.Unmarshal(answer.Result.Value, result); err != nil {
		b.t.Fatalf("evaluate %s: %v in %q", expression, err, answer.Result.Value)
	}
	return true
}

// Wait waits until the page is loaded, with its style sheets, and a JavaScript expression is true.
func (b *tab) Wait(expression string) {
	b.t.Helper()
	testkit.WaitFor(b.t, tabPatience, expression, func() bool {
		var ok bool
		return b.evaluate(`document.readyState === "complete" && Boolean(`+expression+")", &ok) && ok
	})
}

// Screenshot writes an image of the whole page as a PNG.
func (b *tab) Screenshot(path string) {
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(path, png, 0o644)
	}
	if err != nil {
		b.t.Errorf("save screenshot: %v", err)
	}
}

// navigated is Chromium's error for an expression whose page is replaced by another one while it is evaluated.
const navigated = "Inspected target navigated or closed"

// call sends a command and decodes its answer. It ignores events in between.
func (b *tab) call(method string, params, result any) {
	b.t.Helper()
	if failed := b.try(method, params, result); failed != "" {
		b.t.Fatalf("%s: %s", method, failed)
	}
}

// try is like call, but returns Chromium's error message, or "".
func (b *tab) try(method string, params, result any) (failed string) {
	b.t.Helper()
	b.send(method, params)
	if err := b.pipe.SetReadDeadline(time.Now().Add(tabPatience)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		text, err := b.in.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: read from chromium: %v", method, err)
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			b.t.Fatalf("%s: %v in %q", method, err, text)
		}
		switch {
		case m.Method != "":
			b.note(m.Method, m.Params)
			continue
		case m.ID != b.last:
			continue
		case m.Error != nil:
			return m.Error.Message
		case result != nil:
			err = json.Unmarshal(m.Result, result)
		}
		if err != nil {
			b.t.Fatalf("%s: %v in %q", method, err, m.Result)
		}
		return ""
	}
}

func (b *tab) send(method string, params any) {
	b.last++
	m := map[string]any{"id": b.last, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.out.Write(append(text, 0))
	}
	if err != nil {
		b.t.Error(fmt.Errorf("%s: write to chromium: %w", method, err))
	}
}
