// Package tune makes a host fit to judge and puts it back. Its table of knobs says for every setting
// which files of the kernel hold it, what they should read on this host, why, and what it risks;
// plan, apply, status, restore, the check of a journal and the metric all come from that table.
//
// A knob is turned in this order: read, journal (write, fsync, rename, fsync of the folder), write,
// read back. So whatever moment the process is killed at, the journal names every value that may
// differ from what it was, and Restore brings it back: in reverse order, never to a guess and never
// over a change that somebody made since.
//
// Belongs here: the table, the plan for one host, the journal, applying, comparing and restoring.
//
// Does not belong here: judging whether the host is fit (doctor), what only the kernel's command line
// can do (boot), and settings of single runs (sandbox).
package tune
