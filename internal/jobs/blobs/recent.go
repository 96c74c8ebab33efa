package blobs

import (
	"sync"
	"time"

	"judged/internal/base/units"
)

// recent remembers blobs that a bucket has, as a copy does: a mark is renewed before the sweep deletes its blob even if
// that is asked for an hour later. Each job names all tests of its problem, and each question takes a request.
type recent struct {
	mu   sync.Mutex // guards seen
	seen map[string]seenBlob
}

type seenBlob struct {
	size units.Bytes
	at   time.Time
}

// maxRecent limits the blobs that are remembered; each takes about 150 bytes.
const maxRecent = 100_000

// size returns the size of a blob that was seen within markEvery.
func (r *recent) size(digest string, now time.Time) (n units.Bytes, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, found := r.seen[digest]
	return s.size, found && now.Sub(s.at) <= markEvery
}

func (r *recent) add(digest string, n units.Bytes, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil || len(r.seen) >= maxRecent {
		r.seen = map[string]seenBlob{}
	}
	r.seen[digest] = seenBlob{n, now}
}

func (r *recent) forget(digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, digest)
}
