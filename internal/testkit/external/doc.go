// Package external runs what judged talks to, for tests and for the demo: a PostgreSQL server, an S3-compatible server
// (Versity's gateway), and a TCP proxy between judged and others, which can delay and cut connections. Servers can be
// killed and restarted with their data.
//
// Not here: what speaks judged's own protocol (simjudge) or DOMjudge's (domserver).
package external

import "time"

// patience limits each step of a server on a busy machine.
const patience = time.Minute
