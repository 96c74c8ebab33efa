// Package testkit is shared by tests of several packages: it declares what a test needs from the machine, so
// that it cannot be skipped silently (Need), fails a test binary that leaves something behind (Run), builds C
// programs (CompileC), waits for conditions (WaitFor) and starts programs as systemd would (Unit). It runs what judged
// talks to: a PostgreSQL server, an S3-compatible server (Versity's gateway), and a TCP proxy between judged and others,
// which can delay and cut connections. Servers can be killed and restarted with their data.
//
// Only _test.go files, the demo and packages below testkit import it. It imports little, so that tests of all layers can
// use it. Fixtures of one package, helpers that know a domain type, and what speaks a protocol of judged (simjudge) or
// DOMjudge (domserver) do not belong here.
package testkit
