// Package tune sets a host up for judging and restores it. What it sets, and to which values, is in the
// catalogue (package settings), which plan, apply, status, restore and the check of a journal all use.
//
// A value is set in this order: read, journal (write, fsync, rename, fsync of the folder), write, read back. If
// the process is killed at any time, the journal contains all values that may have changed, and Restore
// restores them in reverse order. It never guesses a value and never overwrites a later change by somebody
// else.
//
// PlanBoot returns what only the next boot can set: the kernel command line that reserves CPUs for runs, also as a
// GRUB drop-in, a systemd drop-in and a tuned profile. It changes nothing.
//
// Belongs here: the plan for one host, the journal, applying, comparing and restoring, and the settings that
// are not just values in files: affinities of threads, the partition, swap, boot parameters.
//
// Does not belong here: evaluating the host (doctor) and settings of single runs (sandbox).
package tune
