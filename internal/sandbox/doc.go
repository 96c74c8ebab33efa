// Package sandbox runs one program once: Prepare a sandbox before it is needed, Load it with a program, Run it, Close
// it. No part of a sandbox is used twice.
//
// Package initproc shows the processes and the messages between them. This package decides when a run is stopped and
// what is read from it; package measure decides what that means.
//
// An error means that judged could not do its work. What the program did is in the Result.
package sandbox
