// Package boot renders what must be said before the kernel starts so that CPUs are set apart for
// runs: the kernel command line, and the same as a GRUB drop-in, a systemd drop-in and a tuned
// profile.
//
// Belongs here: which parameters suit this kind of host and this width of a slot, what becomes of
// those that are on the command line already, and the texts.
//
// Does not belong here: writing any of it, what can be set while the kernel runs (tune), and whether
// the host is as it should be (doctor). Nothing here changes anything.
package boot
