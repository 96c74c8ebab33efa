package api

import (
	"slices"

	"judged/internal/base/text"
	"judged/internal/base/units"
)

// Keep says what a job keeps of the streams of its program. Each kept stream of a test is a blob that the report names.
type Keep struct {
	Stdout KeepWhen `json:"stdout,omitempty"`
	Stderr KeepWhen `json:"stderr,omitempty"`
	// Compiler is about what the compiler of the submission writes; failed means CE, cut more than the report quotes.
	Compiler KeepWhen `json:"compiler,omitempty"`
	// Bytes is how much is kept of each stream and of each collected file, from its start. Of a compiler's output it is
	// at most 1 MiB.
	Bytes units.Bytes `json:"bytes,omitempty"`
	// Total limits what the whole job keeps. Callers cannot send it.
	Total units.Bytes `json:"total_bytes,omitempty" from:"judged"`
}

// KeepWhen says for which tests a stream is kept.
type KeepWhen string

// The values of KeepWhen; "" means never.
const (
	KeepNever  KeepWhen = "never"
	KeepFailed KeepWhen = "failed" // tests whose verdict is neither AC nor PC
	KeepCut    KeepWhen = "cut"    // tests whose head in the report lacks a part of it, or changes it to be UTF-8
	KeepAlways KeepWhen = "always"
)

// KeepChoices returns the values of KeepWhen.
func KeepChoices() []KeepWhen { return []KeepWhen{KeepNever, KeepFailed, KeepCut, KeepAlways} }

// Asked reports whether the stream of any test is kept.
func (k KeepWhen) Asked() bool { return k == KeepFailed || k == KeepCut || k == KeepAlways }

// Of reports whether the stream of a test with a verdict may be kept.
func (k KeepWhen) Of(v Verdict) bool {
	return k == KeepAlways || k == KeepCut || k == KeepFailed && v.Failed()
}

// KeepsOutput reports whether the report of the job may name blobs.
func (j Job) KeepsOutput() bool {
	return j.Keep.Stdout.Asked() || j.Keep.Stderr.Asked() || j.Keep.Compiler.Asked() || len(j.Collect) > 0
}

// Stream names what an output is.
type Stream string

// The streams. A FileStream has a name.
const (
	StdoutStream Stream = "stdout"
	StderrStream Stream = "stderr"
	FileStream   Stream = "file" // a collected file of the working directory
	// CompilerStream is both streams of the compiler of the submission, as valid UTF-8. It belongs to no test.
	CompilerStream Stream = "compiler"
)

// Output is the stored content of a stream or a file, from the run that decides the test.
type Output struct {
	Test   string `json:"test,omitempty"`
	Stream Stream `json:"stream"`
	Name   string `json:"name,omitempty"` // of a collected file
	// Blob is the digest of the content, which is cut if Truncated is set. It is "" if nothing could be kept, because
	// the job keeps too much or the content was lost before it was stored.
	Blob      string      `json:"blob,omitempty"`
	Bytes     units.Bytes `json:"bytes"` // full size
	Truncated bool        `json:"truncated"`
	// Missing means that the program left no regular file of that name.
	Missing bool `json:"missing,omitempty"`
}

// KeptOutput is an output and its content, until it is stored.
type KeptOutput struct {
	Output
	Content []byte // nil if nothing is kept
}

// Cut shortens the content to at most the first n bytes; with n below 1 nothing of a longer one is kept.
func (k *KeptOutput) Cut(n units.Bytes) {
	switch {
	case units.Bytes(len(k.Content)) <= n:
	case n > 0:
		k.Content, k.Truncated = k.Content[:n], true
	default:
		k.Content, k.Truncated = nil, true
	}
}

// when returns when a job keeps a stream.
func (j Job) when(s Stream) KeepWhen {
	switch {
	case s == StdoutStream && j.Interactor == nil: // otherwise the interactor reads it
		return j.Keep.Stdout
	case s == StderrStream:
		return j.Keep.Stderr
	case s == FileStream:
		return KeepAlways
	case s == CompilerStream && j.Language != "":
		return j.Keep.Compiler
	}
	return KeepNever
}

// blobName matches a SHA-256 in lower-case hex.
var blobName = text.Pattern(`^[0-9a-f]{64}$`)

// outputs checks that each output is one that the job requests, and is listed once.
func (c *check) outputs(r Report) {
	verdicts := map[string]Verdict{}
	for _, t := range r.Tests {
		verdicts[t.Name] = t.Verdict
	}
	type key struct {
		test, name string
		stream     Stream
	}
	seen := map[key]bool{}
	for _, o := range r.Outputs {
		v, known := verdicts[o.Test]
		if o.Stream == CompilerStream {
			v, known = r.Verdict, o.Test == ""
			if v != CompileError {
				v = Accepted // of the compiler
			}
		}
		c.that(known, "outputs", "no test %s in the report", quoted(o.Test))
		c.that(c.job.when(o.Stream).Of(v), "outputs", "the job keeps no %s of a test with %s", quoted(o.Stream), v)
		named := o.Stream == FileStream
		c.that(named == slices.Contains(c.job.Collect, o.Name) && (named || o.Name == ""), "outputs",
			"the job collects no %s", quoted(o.Name))
		c.that(o.Blob == "" || blobName().MatchString(o.Blob), "outputs", "%s is no digest", quoted(o.Blob))
		c.that(!o.Missing || named && o.Blob == "" && o.Bytes == 0, "outputs", "%s is missing, and not", quoted(o.Name))
		c.bytes("outputs", &o.Bytes)
		k := key{o.Test, o.Name, o.Stream}
		c.that(!seen[k], "outputs", "%s of test %s is listed twice", quoted(o.Stream), quoted(o.Test))
		seen[k] = true
		if c.err != nil {
			return
		}
	}
}
