// Package tune makes a host fit to judge and puts it back. What it sets, and to which values, is in the catalogue
// (package settings); plan, apply, status, restore and the check of a journal all follow the catalogue.
//
// A value is set in this order: read, journal (write, fsync, rename, fsync of the folder), write, read back. So
// whenever the process is killed, the journal names every value that may differ from the old one, and Restore puts it
// back: in reverse order, never to a guess, and never over a change that somebody made since.
//
// Belongs here: the plan for one host, the journal, applying, comparing and restoring, and the settings that are more
// than values in files: affinities of threads, the partition, swap.
//
// Does not belong here: judging whether the host is fit (doctor), what only the kernel command line can do (boot), and
// settings of single runs (sandbox).
package tune
