// Package linux wraps the kernel's system calls. It is the only package that imports golang.org/x/sys/unix.
// Each function wraps one system call, or a small group of calls that belong together, names the call in its
// error as the manual pages do, and retries on EINTR. The package contains no policy.
package linux
