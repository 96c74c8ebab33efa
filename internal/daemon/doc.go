// Package daemon wires judged together: configuration in, parts made from the
// bottom up, three tasks that run beside each other (HTTP, the dispatcher, the
// examination of the host), and everything taken down in reverse.
package daemon
