// Package sandbox runs one program once: Prepare a sandbox before it is
// needed, Load it with a program, Run it, Close it. Nothing of a sandbox is
// ever used twice.
//
// The processes and what passes between them are drawn in package initproc. What
// is decided here is when a run is stopped and what is read of it; what that
// means is package measure's.
//
// An error means that judged could not do its work. What the program did is in
// the Result.
package sandbox
