// Package fleet connects judge nodes with fronts. A front has the database and
// answers over HTTP; a judge node has slots and no database. The node dials the
// front with a token of scope node:
//
//	node: Register, Take, Extend, Emit, Finish, Return, Verify  ->  POST /v1/work/...  ->  front: jobs.Store
//
// Source is the node's side: the dispatcher takes jobs from it as it does from a
// jobs.Store. Registry is the front's side: the nodes that registered. All that is
// sent is JSON of the types in wire.go.
package fleet
