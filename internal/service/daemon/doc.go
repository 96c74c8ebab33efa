// Package daemon wires judged together: configuration in, parts made from the
// bottom up, tasks that run beside each other (HTTP, the dispatcher, those that look
// after the host and the blobs), and everything taken down in reverse.
package daemon
