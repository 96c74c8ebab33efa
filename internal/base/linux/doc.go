// Package linux is the door to the kernel: the only importer of
// golang.org/x/sys/unix. Each function wraps one system call, or one small
// group that only makes sense together, names it in its error the way the
// manual pages do, and retries EINTR. It decides nothing.
package linux
