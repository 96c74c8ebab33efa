package guest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unpack reads the archive as the kernel's initramfs code does.
func unpack(t *testing.T, text string) []string {
	t.Helper()
	var entries []string
	take := func(n, align int) string {
		t.Helper()
		if n > len(text) {
			t.Fatalf("archive ends %d bytes early", n-len(text))
		}
		got := text[:n]
		text = text[min(len(text), n+align):]
		return got
	}
	for {
		header := take(110, 0)
		field := func(i int) int {
			n, err := strconv.ParseInt(header[6+8*i:14+8*i], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		if header[:6] != "070701" {
			t.Fatalf("magic %q", header[:6])
		}
		name := take(field(11), (4-(110+field(11))%4)%4)
		data := take(field(6), (4-field(6)%4)%4)
		if name == "TRAILER!!!\x00" {
			return entries
		}
		entries = append(entries, strings.TrimSuffix(name, "\x00")+" "+strconv.FormatInt(int64(field(1)),
			8)+" "+strconv.Quote(data))
	}
}

func TestArchive(t *testing.T) {
	host := t.TempDir()
	for name, text := range map[string]string{"a": "", "b": "1", "sub/c": "four", "sub/program": "12345"} {
		path := filepath.Join(host, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(host, "sub/program"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b", filepath.Join(host, "link")); err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	a := newArchive(&out)
	a.bytes("/etc/x", "xyz", 0o600)
	a.tree("/etc/tree", host)
	a.file("top", filepath.Join(host, "b"))
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`etc 40755 ""`, `etc/x 100600 "xyz"`,
		`etc/tree 40755 ""`, `etc/tree/a 100644 ""`, `etc/tree/b 100644 "1"`, `etc/tree/link 120777 "b"`,
		`etc/tree/sub 40755 ""`, `etc/tree/sub/c 100644 "four"`, `etc/tree/sub/program 100750 "12345"`,
		`top 100644 "1"`,
	}
	if diff := cmp.Diff(want, unpack(t, out.String())); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestArchiveKeepsItsFirstError(t *testing.T) {
	var out bytes.Buffer
	a := newArchive(&out)
	a.file("x", filepath.Join(t.TempDir(), "absent"))
	a.bytes("y", "text", 0o644)
	if err := a.close(); err == nil || !strings.Contains(err.Error(), "absent") || out.Len() != 0 {
		t.Errorf("error %v after %d bytes, want the missing file and no bytes", err, out.Len())
	}
}

func TestParseResults(t *testing.T) {
	const both = `{"Stream":"stdout","Name":"a","Data":"aGk="}` + "\r\n" +
		`{"Stream":"stderr","Name":"a","Data":"AP8="}` + "\n"
	const beat = `{"Stream":"beat"}` + "\r\n"
	const exit = `{"Stream":"exit","Name":"a","ExitCode":3,"StdoutBytes":2,"StderrBytes":2}` + "\r\n"
	const done = `{"Stream":"done"}` + "\n"
	whole := map[string]Result{"a": {Stdout: "hi", Stderr: "\x00\xff", ExitCode: 3, Over: true}}
	begun := map[string]Result{"a": {Stdout: "hi", Stderr: "\x00\xff"}}
	for _, tc := range []struct {
		name, in string
		want     map[string]Result
		err      string
	}{
		{name: "whole", in: both + exit + done, want: whole},
		{name: "signs of life", in: beat + both + beat + exit + beat + done + beat, want: whole},
		{name: "nothing", in: "", want: map[string]Result{}, err: "ended before it was done (0 commands over)"},
		{name: "cut within a line", in: both + exit[:20], want: begun, err: "ended before it was done (0"},
		{name: "cut before done", in: both + exit, want: whole, err: "ended before it was done (1"},
		{name: "lost output", in: exit, want: map[string]Result{}, err: "sent 2 and 2 bytes, 0 and 0 arrived"},
		{name: "garbage", in: both + "oops\n", want: begun, err: `"oops\n"`},
		{name: "unknown frame", in: `{"Stream":"x"}` + "\n", want: map[string]Result{}, err: `unknown frame "x"`},
		{name: "broken init", in: `{"Stream":"broken","Failure":"no proc"}` + "\n", want: map[string]Result{},
			err: "no proc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseResults(strings.NewReader(tc.in))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}

func TestArgs(t *testing.T) {
	for _, tc := range []struct {
		cfg  Config
		want []string
	}{
		{Config{NUMA: true, Append: "isolcpus=2"}, []string{
			"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
			"-machine", "pc", "-accel", "tcg,thread=single", "-cpu", "max,-cx16", "-smp",
			"4,sockets=2,cores=2,threads=1", "-m", "2048M",
			"-kernel", "K", "-initrd", "I", "-append", "console=ttyS0 panic=-1 quiet nowatchdog mitigations=off isolcpus=2",
			"-serial", "file:C", "-serial", "file:R",
			"-object", "memory-backend-ram,id=m0,size=1024M", "-numa", "node,nodeid=0,cpus=0-1,memdev=m0",
			"-object", "memory-backend-ram,id=m1,size=1024M", "-numa", "node,nodeid=1,cpus=2-3,memdev=m1",
		}},
		{Config{Arch: "arm64", Sockets: 1, Cores: 2, MemoryMiB: 512}, []string{
			"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
			"-machine", "virt,gic-version=3", "-accel", "tcg,thread=multi", "-cpu", "max,pauth-impdef=on",
			"-smp", "2,sockets=1,cores=2,threads=1", "-m", "512M",
			"-kernel", "K", "-initrd", "I", "-append", "console=ttyAMA0 panic=-1 quiet nowatchdog mitigations=off",
			"-serial", "file:C", "-chardev", "file,id=results,path=R", "-device", "pci-serial,chardev=results",
		}},
	} {
		if diff := cmp.Diff(tc.want, tc.cfg.withDefaults().args("K", "I", "C", "R")); diff != "" {
			t.Errorf("arguments (-want +got):\n%s", diff)
		}
	}
	want := []string{"-device", "nvme,id=disks,serial=disks",
		"-drive", "if=none,id=disk0,format=raw,cache=unsafe,file=D", "-device", "nvme-ns,bus=disks,drive=disk0,nsid=1",
		"-drive", "if=none,id=disk1,format=raw,cache=unsafe,file=E", "-device", "nvme-ns,bus=disks,drive=disk1,nsid=2"}
	if diff := cmp.Diff(want, diskArgs([]string{"D", "E"})); diff != "" || diskArgs(nil) != nil {
		t.Errorf("disks (-want +got):\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	ok := Command{Name: "a", Args: []string{"/init"}}
	for _, tc := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"good", Config{Commands: []Command{ok, {Name: "b", Args: []string{"/init"}}}}, ""},
		{"none", Config{}, "no commands"},
		{"same name", Config{Commands: []Command{ok, ok}}, `"a" is empty or used twice`},
		{"relative path", Config{Commands: []Command{{Name: "a", Args: []string{"init"}}}}, "absolute path"},
		{"no program", Config{Commands: []Command{{Name: "a"}}}, "absolute path"},
		{"no machine", Config{Arch: "riscv64", Commands: []Command{ok}}, `architecture "riscv64"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.cfg.withDefaults().validate()
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
