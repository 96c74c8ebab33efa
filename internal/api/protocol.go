package api

import (
	"slices"
	"strings"
)

// Protocol is the protocol between a judge and a checker or an interactor that is a program. It is the kind of the
// Checker or Interactor.
type Protocol string

// The protocols.
const (
	ICPC    Protocol = "icpc"    // output validators in the ICPC and Kattis package formats
	Testlib Protocol = "testlib" // programs that use testlib.h, such as those of Polygon
	CMS     Protocol = "cms"     // comparators, and managers of Communication tasks, in the Contest Management System
	SIO     Protocol = "sio"     // checkers of SIO2, such as those of sinol-make
	Bridged Protocol = "bridged" // programs of the DMOJ judge that do not use testlib.h
)

// CheckerProtocols returns the protocols of checkers.
func CheckerProtocols() []Protocol { return []Protocol{ICPC, Testlib, CMS, SIO, Bridged} }

// InteractorProtocols returns the protocols of interactors.
func InteractorProtocols() []Protocol { return []Protocol{ICPC, Testlib, CMS, Bridged} }

// CheckerProtocol returns the protocol of a kind of checker, and whether the kind is a program.
func CheckerProtocol(kind string) (p Protocol, isProgram bool) {
	return Protocol(kind), slices.Contains(CheckerProtocols(), Protocol(kind))
}

// InteractorProtocol returns the protocol of a kind of interactor, and whether it is known.
func InteractorProtocol(kind string) (p Protocol, known bool) {
	return Protocol(kind), slices.Contains(InteractorProtocols(), Protocol(kind))
}

// ProtocolUsage formats protocols for the usage of a flag: "icpc:PATH or testlib:PATH".
func ProtocolUsage(protocols []Protocol) string {
	var forms []string
	for _, p := range protocols {
		forms = append(forms, string(p)+":PATH")
	}
	last := len(forms) - 1
	return strings.Join(forms[:last], ", ") + " or " + forms[last]
}

const (
	// MaxInstances is the maximum number of instances of a program that a manager communicates with.
	MaxInstances = 8
	// MaxTranscript is the maximum amount of text in a transcript, in bytes.
	MaxTranscript = 64 << 10
)
