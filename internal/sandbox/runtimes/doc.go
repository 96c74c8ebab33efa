// Package runtimes finds the files that programs of this host load: interpreter, loader, libraries, and the files
// that belong to the interpreter. One walk finds them, for two uses.
//
// With a private root they are copied, and the root holds nothing else of the host.
//
// With a root that shows the host's own files, they are read into the page cache before a run. Otherwise the first
// run in Python, Java or Node waits for the disk, spends more CPU time on page faults, and is charged for the page
// cache that it is the first to fill: Node's peak was 96 MiB cold and 22 MiB warm.
//
// This code reads contestants' programs as a process with all rights: readLinkage describes how little it takes from
// them.
package runtimes
