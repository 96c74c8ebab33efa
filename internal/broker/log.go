package broker

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// logger hands the server's lines to slog. Its notices (banner, limits, start
// and stop) tell an operator of judged nothing and become debug lines.
type logger struct {
	log    *slog.Logger
	broken func(text string) // called when a stream can store no more

	mu    sync.Mutex
	fatal string // guarded by mu
}

func (l *logger) Noticef(format string, v ...any) {
	l.log.Debug("broker: " + fmt.Sprintf(format, v...))
}
func (l *logger) Debugf(string, ...any) {}
func (l *logger) Tracef(string, ...any) {}

// Fatalf keeps the text: Start returns it as its error.
func (l *logger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fatal = fmt.Sprintf(format, v...)
}

func (l *logger) lastFatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// Warnf leaves out what the server thinks of maxPayload.
func (l *logger) Warnf(format string, v ...any) {
	if !strings.HasPrefix(format, "Maximum payloads over") {
		l.log.Warn("broker: " + fmt.Sprintf(format, v...))
	}
}

// Errorf passes on that a write failed: the stream takes nothing more from
// then on and does not even answer, so this line is the only sign of it.
func (l *logger) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.log.Error("broker: " + text)
	if strings.Contains(format, "critical write error") {
		l.broken(text)
	}
}
