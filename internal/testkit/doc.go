// Package testkit is what tests of several packages share: stating a need of
// the machine so that it cannot vanish silently (Need), failing a test binary
// that leaves something behind (Run), building C programs (CompileC) and
// waiting for a condition (WaitFor).
//
// It is imported by _test.go files and by packages below testkit only, and it
// uses the standard library only, so that every floor may use it. Fixtures of
// one package and helpers that know a domain type do not belong here.
package testkit
