package cpuset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	tests := []struct {
		in   string
		want Set
		err  string // part of the message
	}{
		{in: "", want: nil},
		{in: " \n", want: nil},
		{in: "0", want: Set{0}},
		{in: "0-3,7\n", want: Set{0, 1, 2, 3, 7}},
		{in: "7,0-2,1-3", want: Set{0, 1, 2, 3, 7}},
		{in: "5-5", want: Set{5}},
		{in: "8191", want: Set{8191}},
		{in: "0x4", want: Set{2}},
		{in: "0X8C", want: Set{2, 3, 7}},
		{in: "0x0", want: nil},
		{in: "0xff,00000000", want: Set{32, 33, 34, 35, 36, 37, 38, 39}},
		{in: "0x1,00000001,80000000", want: Set{31, 32, 64}},
		{in: "0x10000000000000000", want: Set{64}},
		{in: "0x1" + strings.Repeat("0", 2047) + "", want: Set{8188}},
		{in: "0x8" + strings.Repeat("0", 2047) + "", want: Set{8191}},
		{in: "0x" + strings.Repeat("0", 5000) + "1", want: Set{0}},

		{in: "a", err: `"a" is not a CPU number: write a list like 2-3,7 or a mask like 0x8c`},
		{in: "ff,00000000", err: `"ff" is not a CPU number`},
		{in: "(null)", err: "is not a CPU number"},
		{in: "-1", err: `"" is not a CPU number`},
		{in: "+1", err: `"+1" is not a CPU number`},
		{in: "1-", err: `"" is not a CPU number`},
		{in: "1-2-3", err: `"2-3" is not a CPU number`},
		{in: "0,,2", err: `"" is not a CPU number`},
		{in: "0, 2", err: `" 2" is not a CPU number`},
		{in: "3-1", err: `range "3-1" is reversed: write 1-3`},
		{in: "0-6:2/4", err: `"0-6:2/4" has a stride, which is not supported: list the CPUs one by one`},
		{in: "8192", err: "CPU 8192 is beyond 8191"},
		{in: "0-99999999999999999999", err: "CPU 99999999999999999999 is beyond 8191"},
		{in: "0x", err: "mask without digits"},
		{in: "0x,00000001", err: "mask without digits"},
		{in: "0xg", err: `"g" is not a hex digit`},
		{in: "0x-1", err: `"-" is not a hex digit`},
		{in: "0xff,0", err: `word "0" of the mask is not 8 digits long`},
		{in: "0x1" + strings.Repeat("0", 2048), err: "CPU 8192 is beyond 8191"},
	}
	for _, tt := range tests {
		t.Run(tt.in[:min(len(tt.in), 30)], func(t *testing.T) {
			got, err := Parse(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Parse(%.30q) (-want +got):\n%s", tt.in, diff)
			}
			switch {
			case err == nil && tt.err != "":
				t.Errorf("no error, want one with %q", tt.err)
			case err != nil && (tt.err == "" || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error %q, want %q in it", err, tt.err)
			}
		})
	}
}

func TestText(t *testing.T) {
	tests := []struct {
		set        Set
		list, mask string
	}{
		{nil, "", "0"},
		{Set{0}, "0", "1"},
		{Set{0, 1}, "0-1", "3"},
		{Set{2, 3, 7}, "2-3,7", "8c"},
		{Set{0, 2, 4}, "0,2,4", "15"},
		{Set{31, 32}, "31-32", "1,80000000"},
		{Set{64}, "64", "1,00000000,00000000"},
	}
	for _, tt := range tests {
		if got := tt.set.String(); got != tt.list {
			t.Errorf("%#v as a list is %q, want %q", tt.set, got, tt.list)
		}
		if got := tt.set.Mask(); got != tt.mask {
			t.Errorf("%#v as a mask is %q, want %q", tt.set, got, tt.mask)
		}
	}
}
