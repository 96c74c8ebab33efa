package api

import (
	"fmt"
	"strings"
)

// LanguageStatus is whether a host has a language.
type LanguageStatus struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Extensions []string `json:"extensions"`
	Available  bool     `json:"available"`
	Version    string   `json:"version,omitempty"`
	Reason     string   `json:"reason,omitempty"` // why it is not there
}

// LanguageUnavailableError says that this host does not have a language.
type LanguageUnavailableError struct{ Language, Reason string }

func (e *LanguageUnavailableError) Error() string {
	return fmt.Sprintf("language %q: %s", e.Language, e.Reason)
}

// Fault returns whose fault the IE of an accepted job is.
func (e *LanguageUnavailableError) Fault() Fault { return HostFault }

// CompilerExited begins the message of a compilation that ended with the compiler's own decision.
const CompilerExited = "the compiler exited with status "

// CompilerRejected reports whether the failure of a compilation is the compiler's own decision, which does not depend on
// the time that it took.
func CompilerRejected(failure string) bool { return strings.HasPrefix(failure, CompilerExited) }
