// Package audit judges a share of all jobs a second time on another node of the pool, and takes a node out of use if
// its times deviate from those of the others.
//
//	sample    chooses finished jobs by a salted hash, and queues them again at the lowest priority
//	compare   computes one ratio of times for each audit, from undisturbed runs
//	detect    runs package timing/deviation every hour on the audits of a pool
//	confirm   has a suspect and three other nodes judge the same jobs; only that drains a node
//
// Of all fronts that share a database, one does this, see jobs.Store.Lead. All state is in the database.
package audit
