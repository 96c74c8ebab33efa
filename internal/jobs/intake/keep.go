package intake

import (
	"fmt"
	"slices"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/text"
	"judged/internal/base/units"
)

const (
	// defaultKeep is how much is kept of a stream, in bytes, where a job does not say it.
	defaultKeep units.Bytes = 64 << 10
	// maxOutputs limits the outputs that a report names. Each takes about 200 bytes.
	maxOutputs = 20_000
)

// checkKeep validates which outputs a job keeps.
func (e *Errors) checkKeep(j api.Job, most config.MaxLimits) {
	oneOf(e, "keep.stdout", j.Keep.Stdout, api.KeepChoices()...)
	oneOf(e, "keep.stderr", j.Keep.Stderr, api.KeepChoices()...)
	oneOf(e, "keep.compiler", j.Keep.Compiler, api.KeepChoices()...)
	e.check(!j.Keep.Compiler.Asked() || j.Language != "", "keep.compiler", "there is no language; send one or leave it out")
	optional(e, "keep.bytes", j.Keep.Bytes, most.Keep, "limits.max.keep")
	e.check(len(j.Collect) <= most.Collect, "collect", "%d files; send at most %d, the bound of limits.max.collect",
		len(j.Collect), most.Collect)
	for i, name := range j.Collect[:min(len(j.Collect), most.Collect)] {
		field := fmt.Sprintf("collect[%d]", i)
		e.fileName(field, name)
		e.check(!slices.Contains(j.Collect[:i], name), field, "%s is listed already; send it once", text.Quoted(name))
	}
	each := len(j.Collect)
	for _, stream := range []api.KeepWhen{j.Keep.Stdout, j.Keep.Stderr} {
		if stream.Asked() {
			each++
		}
	}
	e.check(each*len(j.Tests) <= maxOutputs, "keep", "%d streams and files of each of %d tests do not fit into a report; "+
		"keep fewer, at most %d in all", each, len(j.Tests), maxOutputs)
}

func fillKeep(most config.MaxLimits, j api.Job) api.Keep {
	if !j.KeepsOutput() {
		return api.Keep{}
	}
	setDefault(&j.Keep.Bytes, min(defaultKeep, most.Keep))
	j.Keep.Total = most.KeepJob
	return j.Keep
}
