// Package testkit is shared by tests of several packages: it declares what a test needs from the machine, so
// that it cannot be skipped silently (Need), fails a test binary that leaves something behind (Run), builds C
// programs (CompileC) and waits for conditions (WaitFor).
//
// Only _test.go files and packages below testkit import it. It uses only the standard library, so that all
// layers can use it. Fixtures of one package and helpers that know a domain type do not belong here.
package testkit
