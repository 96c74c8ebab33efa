// Package judge is a judge node's side of a fleet. A judge node has slots and runs hostile code, so it has no password
// for the database. It connects to a front with a token with the scope node:
//
//	Register, Take, Extend, Emit, Finish, Return, Verify  ->  POST /v1/work/...  ->  a front, which queries the store
//
// Source is the queue from which its dispatcher takes jobs. All messages are JSON of types of package api.
package judge
