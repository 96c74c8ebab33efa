package api

import (
	"slices"
	"testing"

	"judged/internal/base/units"
)

func TestFillStack(t *testing.T) {
	command := []string{"java", "-Xss" + StackMark + "k", "x"}
	for limit, want := range map[units.Bytes]string{256 << 20: "-Xss32768k", 64 << 20: "-Xss8192k", 1 << 20: "-Xss1024k",
		0: "-Xss1024k", 1 << 40: "-Xss134217728k"} {
		if got := FillStack(command, limit); !slices.Equal(got, []string{"java", want, "x"}) {
			t.Errorf("%d: %q, want %q", limit, got, want)
		}
	}
	if command[1] != "-Xss"+StackMark+"k" {
		t.Errorf("the command itself is %q now", command)
	}
	if got := FillStack([]string{"a"}, 1); !slices.Equal(got, []string{"a"}) {
		t.Errorf("without a mark: %q", got)
	}
}
