// Package callback notifies the URLs that jobs name when a job ends.
//
// A Deliverer claims callbacks from the store and sends each until the receiver accepts it or the tries of its format
// are used up. Delivery is at least once, and usually once; several daemons can share a database. A Format defines what
// is sent: method, body, signature, and the pauses between tries. A Policy defines which addresses may be reached. It
// is checked against the address of each connection, so DNS changes and redirects cannot bypass it. Secrets sign the
// messages.
//
// A receiver is the origin of URLs of one tenant. Receivers share the concurrent tries fairly; a slow or failing
// receiver delays only its own callbacks.
//
// Not here: which callbacks are due (jobs), and the JSON of a callback (api).
package callback
