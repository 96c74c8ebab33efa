// Package judge is a judge node's side of a fleet. A judge node has slots and runs hostile code, so it has no password of
// the database. It dials a front with a token of scope node:
//
//	Register, Take, Extend, Emit, Finish, Return, Verify  ->  POST /v1/work/...  ->  a front, which asks the store
//
// Source is the queue that its dispatcher takes jobs from. All that is sent is JSON of types of package api.
package judge
