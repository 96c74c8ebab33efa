package api

import (
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/units"
)

// StackMark in the command of a runtime is replaced by the maximum stack size of its program, in KiB.
const StackMark = "{stack_kib}"

// A runtime gets a fraction of the stack limit. If no stack limit is set, that is the memory limit, and a runtime needs
// more memory than a deep stack has: OpenJDK 17 uses 4 to 5 times the size of an overflowing stack. Below the minimum
// it does not start, or starts no faster.
const (
	runtimeStackPart  = 8
	leastRuntimeStack = 1 << 20 // bytes
)

// FillStack replaces StackMark in the arguments of a runtime with the resulting stack limit.
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
