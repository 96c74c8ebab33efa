// Package jobspec is the door for jobs: it reads their JSON strictly, fills in
// what the configuration gives, and refuses what no host could judge. The
// daemon, judged run and judged submit use the same door, so a job that one
// accepts the other accepts too.
//
// It does not touch files or the network: where the contents of a job come from
// is the caller's, who visits them with MapFiles. Whether a blob exists is the
// caller's too.
package jobspec
