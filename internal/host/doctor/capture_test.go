package doctor

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"judged/internal/host/hostfs"
)

// TestCaptureAnswersLikeTheHost: a capture must give the same report as the host itself.
func TestCaptureAnswersLikeTheHost(t *testing.T) {
	for name, o := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			var archive bytes.Buffer
			if err := Capture(context.Background(), o, &archive); err != nil {
				t.Fatal(err)
			}
			tree, err := hostfs.ReadArchive(&archive)
			if err != nil {
				t.Fatal(err)
			}
			want := examine(t, o)
			o.FS = hostfs.Of(tree)
			got := examine(t, o)
			if got.Host.Name != "captured" {
				t.Errorf("the host's name is in the capture: %s", got.Host.Name)
			}
			want.Host.Name, got.Host.Name = "", ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("report (-host +capture):\n%s", diff)
			}
		})
	}
}

func TestCaptureHasNoSecrets(t *testing.T) {
	const secret = "hunter2"
	stat := "1 (init) S 0 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 24 0 0 1 77001 77002 77003 0 0 0 0 0 0 0 0 0 17 0 0 " +
		"0\n"
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"sys/devices/system/cpu/online": "0-1",
		"proc/cmdline":                  "isolcpus=1 token=" + secret + " -- --password " + secret,
		"proc/sys/kernel/hostname":      secret,
		"proc/1/environ":                "PASSWORD=" + secret + "\x00container=lxc\x00KEY=" + secret,
		"proc/1/stat":                   stat,
		"proc/1/status":                 "Name:\t" + secret + "\nCpus_allowed_list:\t0-1\nSeccomp:\t77004\n",
		"proc/mounts": "//" + secret + "/x /mnt cifs user=" + secret +
			" 0 0\ncgroup2 /cg cgroup2 rw 0 0\n",
		"proc/cpuinfo": "processor : 0\nSerial : " + secret + "\n",
		"proc/version": "Linux version 6.1.0 (" + secret + ") #1\n",
		"proc/meminfo": "MemAvailable: 1 kB\n",
		// Read only on hosts with NUMA nodes.
		"sys/devices/system/node/online":         "0",
		"sys/devices/system/node/node0/cpulist":  "0-1",
		"sys/devices/system/node/node0/meminfo":  "Node 0 MemTotal: 1 kB\n",
		"sys/devices/system/node/node0/distance": "10",
		"home/user/notes":                        secret,
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
	}
	var archive bytes.Buffer
	if err := Capture(context.Background(), Options{FS: hostfs.Of(tree)}, &archive); err != nil {
		t.Fatal(err)
	}
	files, err := hostfs.ReadArchive(&archive)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := files["proc/meminfo"]; !ok {
		t.Error("nothing says how much memory there is, which a plan for swap asks")
	}
	for name, f := range files {
		if strings.Contains(string(f.Data), secret) || strings.Contains(string(f.Data), "7700") {
			t.Errorf("%s: %q", name, f.Data)
		}
	}
	for name, want := range map[string]string{"proc/cmdline": "isolcpus=1\n", "proc/1/environ": "container=lxc",
		"proc/mounts": "cgroup2 /cg cgroup2 rw 0 0\n"} {
		if f := files[name]; f == nil || string(f.Data) != want {
			t.Errorf("%s: %v, want %q", name, f, want)
		}
	}
}

func TestCaptureReportsWhatItCannot(t *testing.T) {
	var usage *UsageError
	if err := Capture(context.Background(), Options{FS: host(t, "kvm-vm"), Width: -1}, &bytes.Buffer{}); !errors.As(err,
		&usage) {
		t.Errorf("negative width: %v", err)
	}
	if err := Capture(context.Background(), Options{FS: host(t, "kvm-vm")}, fullDisk{}); err == nil {
		t.Error("a full disk is no error")
	}
}
