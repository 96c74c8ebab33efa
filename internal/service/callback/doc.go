// Package callback reports the ends of jobs to the URLs that the jobs name.
//
// A Deliverer claims callbacks from the store, so that none is lost and several daemons can share a database, and sends
// each until the receiver has accepted it or its format gives up: at least once, usually once. A Format is what is sent:
// method, body, signature, pauses between tries. A Policy decides which addresses may be reached; it is applied to the
// address of each connection, so no name, redirect or change of DNS leads elsewhere. Secrets sign.
//
// A receiver is the origin of URLs, of one tenant. All receivers have the same right to the tries that run at once; one
// that is slow or fails delays only itself.
//
// Not here: which jobs have a callback that is due (jobs), and the JSON of a callback (api).
package callback
