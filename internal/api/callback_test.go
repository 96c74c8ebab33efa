package api

import "testing"

func TestOrigin(t *testing.T) {
	for url, want := range map[string]string{
		"https://Platform.Example/a?b=c": "https://platform.example", "HTTPS://a:443": "https://a",
		"http://a:80/": "http://a",
		"http://a:443": "http://a:443", "https://a:8443/x": "https://a:8443", "http://[::1]:80/": "http://[::1]",
		"http://a:x": "",
	} {
		if got := (Callback{URL: url}).Origin(); got != want {
			t.Errorf("origin of %s: %q, want %q", url, got, want)
		}
	}
}

// TestNodeWorkHasNoCallback checks that a judge node does not get the URL, and that the front keeps it.
func TestNodeWorkHasNoCallback(t *testing.T) {
	w := Work{Job: Job{Callback: &Callback{URL: "https://a.example/secret"}}}
	if got := NodeWorkOf(w).Job.Callback; got != nil || w.Job.Callback == nil {
		t.Errorf("the node gets %v, the front has %v", got, w.Job.Callback)
	}
}
