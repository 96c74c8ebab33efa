// Package runtimes finds the files that programs load from this host: interpreter, loader, libraries, and the
// files that belong to the interpreter. The result has two uses.
//
// With a private root the files are copied, and the root contains no other files of the host.
//
// With a root that shows the host's own files, they are read into the page cache before a run. Otherwise the
// first run in Python, Java or Node waits for the disk, uses more CPU time for page faults, and is charged for
// the page cache that it is the first to fill: Node's peak was 96 MiB cold and 22 MiB warm.
//
// This code reads contestants' programs with root privileges: readLinkage describes how it limits what it reads
// from them.
package runtimes
