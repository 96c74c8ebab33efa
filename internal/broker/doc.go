// Package broker is the connection to NATS JetStream: a server embedded in
// this process (in-process connection, no port, files below a data folder,
// every write synced), or a cluster named by a URL. It is the only package
// that knows which of the two it is.
//
// What is kept in JetStream, and how, is not its business: streams belong to
// the packages store and queue.
package broker
