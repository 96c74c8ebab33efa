package cgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseOwn(t *testing.T) {
	tests := map[string]struct {
		text string
		want map[string]string
	}{
		"v2":      {"0::/system.slice/judged.service\n", map[string]string{"": "/system.slice/judged.service"}},
		"hybrid":  {"4:memory:/a/b\n2:cpu,cpuacct:/\n1:name=systemd:/x\n0::/x\n", map[string]string{"memory": "/a/b", "cpu": "/", "cpuacct": "/", "name=systemd": "/x", "": "/x"}},
		"colons":  {"0::/a:b\n", map[string]string{"": "/a:b"}},
		"garbage": {"nothing here\n", map[string]string{}},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, parseOwn(tt.text)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
