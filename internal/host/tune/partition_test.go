package tune

import (
	"testing"
	"testing/fstest"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/settings"
)

func TestPossibleCPUs(t *testing.T) {
	for _, tt := range []struct{ file, want string }{{"0-7\n", "0-7"}, {"\n", "0-3"}, {"many\n", "0-3"}, {"", "0-3"}} {
		tree := fstest.MapFS{}
		if tt.file != "" {
			tree["sys/devices/system/cpu/possible"] = &fstest.MapFile{Data: []byte(tt.file), Mode: 0o444}
		}
		v := &view{Host: settings.Host{FS: hostfs.Of(tree), Topology: machine.Topology{Present: cpuset.New(0, 1, 2, 3)}}}
		if got := v.possible().String(); got != tt.want {
			t.Errorf("file %q: possible CPUs %s, want %s", tt.file, got, tt.want)
		}
	}
}
