// Package boot renders what must be set before the kernel starts so that CPUs are reserved for runs: the kernel command
// line, and the same as a GRUB drop-in, a systemd drop-in and a tuned profile.
//
// Belongs here: which parameters suit this kind of host and this width of a slot, what happens to those that are on the
// command line already, how to read an option of a command line, and the texts.
//
// Does not belong here: what can be set while the kernel runs (tune; the profile takes those values from package
// settings), and whether the host is fit (doctor). Nothing here changes anything.
package boot
