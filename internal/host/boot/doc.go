// Package boot generates the boot configuration that reserves CPUs for runs: the kernel command line, also as a
// GRUB drop-in, a systemd drop-in and a tuned profile.
//
// Belongs here: which parameters suit this kind of host and slot width, what happens to parameters that are
// already on the command line, how to read an option of a command line, and the texts.
//
// Does not belong here: what can be set while the kernel runs (tune; the profile takes these values from
// package settings), and whether the host is ready (doctor). This package changes nothing.
package boot
