package api

import (
	"slices"
	"strings"
)

// Protocol is a convention between a judge and a checker or an interactor that is a program. It is the kind of the
// Checker or Interactor.
type Protocol string

// The protocols.
const (
	ICPC    Protocol = "icpc"    // output validators of the ICPC and Kattis package formats
	Testlib Protocol = "testlib" // programs that use testlib.h, as those of Polygon do
	CMS     Protocol = "cms"     // comparators, and managers of Communication tasks, of the Contest Management System
)

// CheckerProtocols lists the protocols of checkers.
func CheckerProtocols() []Protocol { return []Protocol{ICPC, Testlib, CMS} }

// InteractorProtocols lists the protocols of interactors.
func InteractorProtocols() []Protocol { return []Protocol{ICPC, Testlib, CMS} }

// CheckerProtocol returns the protocol of a kind of checker, and whether the kind is a program.
func CheckerProtocol(kind string) (p Protocol, isProgram bool) {
	return Protocol(kind), slices.Contains(CheckerProtocols(), Protocol(kind))
}

// InteractorProtocol returns the protocol of a kind of interactor, and whether it is known.
func InteractorProtocol(kind string) (p Protocol, known bool) {
	return Protocol(kind), slices.Contains(InteractorProtocols(), Protocol(kind))
}

// ProtocolUsage lists protocols as a flag takes them: "icpc:PATH or testlib:PATH".
func ProtocolUsage(protocols []Protocol) string {
	var forms []string
	for _, p := range protocols {
		forms = append(forms, string(p)+":PATH")
	}
	last := len(forms) - 1
	return strings.Join(forms[:last], ", ") + " or " + forms[last]
}

const (
	// MaxInstances is the largest number of instances of a program that a manager talks with.
	MaxInstances = 8
	// MaxTranscript is how much text a transcript has at most, in bytes.
	MaxTranscript = 64 << 10
)
