package httpapi

import (
	"strconv"
	"testing"
)

// TestOpenAPIHasTheStatusesOfBlobs checks that the document has each status that a client of a blob gets: generated
// clients fail on others.
func TestOpenAPIHasTheStatusesOfBlobs(t *testing.T) {
	const path = "/v1/blobs/{sha256}"
	documented := readDocument(t).Paths[path]
	f := newFixture(t)
	digest := digestText("hello")
	target := "/v1/blobs/" + digest
	f.ask("PUT", target, "hello")
	for _, method := range []string{"GET", "HEAD"} {
		for header, want := range map[string]int{
			"Accept: */*":                     200,
			"Range: bytes=1-2":                206,
			"Range: bytes=5-":                 416,
			`If-None-Match: "` + digest + `"`: 304,
			`If-Match: "x"`:                   412,
		} {
			w := f.ask(method, target, "", header)
			_, known := documented[map[string]string{"GET": "get", "HEAD": "head"}[method]].Responses[strconv.Itoa(w.Code)]
			if w.Code != want || !known {
				t.Errorf("%s with %s: status %d, want %d; documented: %t", method, header, w.Code, want, known)
			}
		}
	}
}
