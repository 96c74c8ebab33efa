// Package daemon assembles judged serve: it opens the parts from the bottom up,
// runs the tasks (HTTP, the dispatcher, slot health, checks of the host, deletion
// of blobs), and closes everything in reverse order.
package daemon
