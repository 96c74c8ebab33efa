package jury

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/linux"
)

const maxLines = 2000

// transcriptNote explains why times do not count: judged relays the conversation, which takes time.
const transcriptNote = "judged relayed the conversation to record it; the times of this test do not count"

// relay copies data between the two sides of a conversation and records it. Call start after both sides have their
// pipe ends, and wait after both have ended.
type relay struct {
	lines   [2]line
	passing sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	begin time.Time
	room  int
	notes api.Transcript
}

// line is one direction of a conversation.
type line struct {
	from string // ExitProgram or ExitInteractor of package api
	r, w *os.File
	gone func(io.Reader) (more bool) // called when the reader has gone; nil closes the pipe
}

// newRelay creates the pipes of a recorded conversation.
func newRelay(e *ends) (r *relay, err error) {
	r = &relay{room: api.MaxTranscript, notes: api.Transcript{Note: transcriptNote, Lines: []api.TranscriptLine{}}}
	asks, answers := &r.lines[0], &r.lines[1]
	asks.from, answers.from = api.ExitInteractor, api.ExitProgram
	if asks.r, e.theirStdout, err = linux.ReadPipe(); err != nil {
		return r, err
	}
	if e.stdin, asks.w, err = linux.WritePipe(); err != nil {
		return r, err
	}
	if answers.r, e.stdout, err = linux.ReadPipe(); err != nil {
		return r, err
	}
	e.theirStdin, answers.w, err = linux.WritePipe()
	return r, err
}

// start starts to copy. gone reads what the interactor writes to a program that no longer reads.
func (r *relay) start(gone func(io.Reader) (more bool)) {
	r.begin = time.Now()
	r.lines[0].gone = gone
	for _, l := range r.lines {
		r.passing.Go(func() { r.pass(l) })
	}
}

// pass copies one direction until the writer ends or the reader has gone. Then it closes the pipe of the other side.
func (r *relay) pass(l line) {
	defer l.r.Close()
	defer l.w.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.r.Read(buffer)
		if n > 0 {
			r.note(l.from, buffer[:n])
			if _, err := l.w.Write(buffer[:n]); err != nil {
				if l.gone != nil && l.gone(l.r) {
					r.truncate()
				}
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (r *relay) note(from string, text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(text) > r.room || len(r.notes.Lines) == maxLines {
		r.notes.Truncated = true
		text = text[:min(len(text), r.room)]
	}
	if len(text) == 0 || len(r.notes.Lines) == maxLines {
		return
	}
	r.room -= len(text)
	r.notes.Lines = append(r.notes.Lines, api.TranscriptLine{Time: time.Since(r.begin), From: from,
		Text: strings.ToValidUTF8(string(text), "\uFFFD")})
}

func (r *relay) truncate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes.Truncated = true
}

// transcript returns the recorded conversation. Both sides must have ended.
func (r *relay) transcript() *api.Transcript {
	r.passing.Wait()
	return &r.notes
}

// close stops the relay, in any state.
func (r *relay) close() {
	for _, l := range r.lines {
		for _, f := range []*os.File{l.r, l.w} {
			if f != nil {
				f.Close()
			}
		}
	}
	r.passing.Wait()
}
