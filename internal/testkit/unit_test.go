package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const wholeUnit = `# a comment = of no meaning
[Unit]
Description=x
[Service]
Type=notify
Delegate=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
ProtectControlGroups=no
ProcSubset=all
CapabilityBoundingSet=CAP_KILL CAP_MKNOD
NoNewPrivileges=yes
UMask=0077
LimitNOFILE=65536
LimitSTACK=8M:infinity
StateDirectory=judged
RuntimeDirectory=judged
RuntimeDirectoryPreserve=yes
`

func TestReadUnit(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Unit
		says       string
	}{
		{name: "whole", text: wholeUnit, want: Unit{
			Capabilities: []int{5, 27}, NoNewPrivileges: true, Umask: 0o077, StateDirectory: "/var/lib/judged",
			RuntimeDirectory: "/run/judged",
			Limits: map[int]syscall.Rlimit{syscall.RLIMIT_NOFILE: {Cur: 65536, Max: 65536},
				syscall.RLIMIT_STACK: {Cur: 8 << 20, Max: ^uint64(0)}},
		}},
		{name: "unknown line", text: wholeUnit + "PrivateUsers=yes\n", says: `"PrivateUsers=yes": unknown here`},
		{name: "line that is required", text: strings.Replace(wholeUnit, "PrivateTmp=yes\n", "", 1), says: `want`},
		{name: "the same with another value", text: strings.Replace(wholeUnit, "ProtectSystem=strict", "ProtectSystem=full",
			1), says: `"ProtectSystem=full": unknown here`},
		{name: "unknown capability", text: wholeUnit + "CapabilityBoundingSet=CAP_FLY\n", says: `no capability "CAP_FLY"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.service")
			if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := ReadUnit(path)
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("got %v, want an error with %q", err, tt.says)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}
