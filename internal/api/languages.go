package api

import (
	"fmt"
	"strings"
	"time"
)

// BuildLanguage is the language of programs of a package that have a build script. Callers cannot send it.
const BuildLanguage = "build"

// LanguageStatus is the status of a language on a host.
type LanguageStatus struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	VariantOf  string     `json:"variant_of,omitempty"` // ID of the language that it is a dialect of
	Extensions []string   `json:"extensions"`
	Available  bool       `json:"available"`
	Version    string     `json:"version,omitempty"`
	Reason     string     `json:"reason,omitempty"`  // reason why it is unavailable
	Factors    *Factors   `json:"factors,omitempty"` // of limits, in the answer of a daemon
	Start      *StartCost `json:"start,omitempty"`   // nil until it is measured
	// CompileOptions are the values that jobs may send as compile_options.
	CompileOptions []string `json:"compile_options,omitempty"`
}

// StartCost is the cost of an empty program in a language on a CPU that does not judge: the median of a few runs.
type StartCost struct {
	CPUTime  time.Duration `json:"cpu_time_ns"`
	WallTime time.Duration `json:"wall_time_ns"`
}

// LanguageUnavailableError means that this host does not have a language.
type LanguageUnavailableError struct{ Language, Reason string }

func (e *LanguageUnavailableError) Error() string {
	return fmt.Sprintf("language %.70q: %s", e.Language, e.Reason)
}

// Fault returns the party at fault for the IE of an accepted job.
func (e *LanguageUnavailableError) Fault() Fault { return HostFault }

// CompilerExited is the start of the message of a compilation whose compiler exited with an error.
const CompilerExited = "the compiler exited with status "

// CompilerRejected reports whether the compiler itself rejected the sources, which does not depend on the time that it
// took.
func CompilerRejected(failure string) bool { return strings.HasPrefix(failure, CompilerExited) }
