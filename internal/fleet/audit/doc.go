// Package audit judges a share of all jobs once more on another node of the pool, and takes a node out of use whose
// times deviate from those of the others.
//
//	sample    chooses finished jobs by a salted hash, and queues them again at the lowest priority
//	compare   one ratio of times for each audit, of runs that nothing disturbed
//	detect    every hour: package timing/deviation on the audits of a pool
//	confirm   a suspect and three other nodes judge the same jobs; only that drains a node
//
// One front of all that share a database does it, see jobs.Store.Lead. All state is in the database.
package audit
