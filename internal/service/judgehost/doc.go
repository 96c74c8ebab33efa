// Package judgehost judges for an unmodified DOMjudge server. It registers each slot as a judgehost, asks for work, has
// the engine compile and judge, and sends results in the terms of DOMjudge.
//
// The loop of a host is in host.go, and one batch of tasks in batch.go. The protocol is in client.go, protocol.go and
// files.go, cached files are in store.go, executables.go and testcases.go, and verdicts are translated in result.go.
//
// No lower package knows DOMjudge. judged handles these tests like those of other jobs; for example, it repeats runs
// near the limit.
package judgehost
