// Package judgehost judges for a DOMjudge server that is not changed: each slot is one of its judgehosts. It registers
// them, asks for work, has the engine compile and judge, and sends results in the terms of DOMjudge.
//
// A host's loop is in host.go, one batch of tasks in batch.go. The protocol is in client.go, protocol.go and files.go,
// what is fetched once in store.go, executables.go and testcases.go, and the translation of verdicts in result.go.
//
// Nothing below knows of DOMjudge. What judged does for its own jobs, such as repeats near the limit, it does here too.
package judgehost
