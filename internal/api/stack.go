package api

import (
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/units"
)

// StackMark in the command of a runtime stands for how large it may let the stack of its program get, in KiB.
const StackMark = "{stack_kib}"

// A runtime gets a part of the stack limit. Without own limit that is the memory limit, and a runtime needs more memory
// than a deep stack has: OpenJDK 17 takes 4 to 5 times the size of one that overflows. Below the least one it does not
// start, or does not start faster.
const (
	runtimeStackPart  = 8
	leastRuntimeStack = 1 << 20 // bytes
)

// FillStack replaces StackMark in the arguments of a runtime with that stack limit.
func FillStack(args []string, limit units.Bytes) []string {
	if !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, StackMark) }) {
		return args
	}
	args = slices.Clone(args)
	kib := strconv.FormatInt(int64(max(limit/runtimeStackPart, leastRuntimeStack)>>10), 10)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], StackMark, kib)
	}
	return args
}
