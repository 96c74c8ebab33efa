// Package jobspec reads and validates jobs: it decodes their JSON strictly, fills in defaults from the configuration,
// and refuses jobs that no host could judge. The daemon, judged run and judged submit all use it, so they accept the
// same jobs.
//
// Not here: files and the network. The caller decides where the contents of a job come from, visits them with MapFiles,
// and checks that blobs exist.
package jobspec
