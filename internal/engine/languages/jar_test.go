package languages

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"strings"
	"testing"
)

// classSpec describes a class file with one method.
type classSpec struct {
	name, source, method, descriptor string
	flags, major, line               uint16
}

// data returns the class file.
func (s classSpec) data() []byte {
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			if text, ok := v.(string); ok {
				_ = binary.Write(&b, binary.BigEndian, uint16(len(text))) // written to memory
				b.WriteString(text)
				continue
			}
			_ = binary.Write(&b, binary.BigEndian, v)
		}
	}
	text := func(s string) { put(uint8(constUTF8), s) }
	put(uint32(0xCAFEBABE), uint16(0), s.major, uint16(11))
	text(s.name)                         // 1
	put(uint8(constClass), uint16(1))    // 2
	put(uint8(5), uint64(7))             // 3 and 4, a long
	text(s.method)                       // 5
	text(s.descriptor)                   // 6
	text("Code")                         // 7
	text("LineNumberTable")              // 8
	text("SourceFile")                   // 9
	text(s.source)                       // 10
	put(uint16(0), uint16(2), uint16(0)) // flags, class, super class
	put(uint16(0), uint16(0), uint16(1)) // interfaces, fields, methods
	put(s.flags, uint16(5), uint16(6), uint16(1))
	put(uint16(7), uint32(2+2+4+1+2+2+6+2+4))         // Code
	put(uint16(0), uint16(0), uint32(1), uint8(0xb1)) // stack, locals, return
	put(uint16(0), uint16(1))                         // exceptions, attributes
	put(uint16(8), uint32(6), uint16(1), uint16(0), s.line)
	put(uint16(1), uint16(9), uint32(2), uint16(10))
	return b.Bytes()
}

func starting(name, source string, line uint16) classSpec {
	return classSpec{name, source, "main", "([Ljava/lang/String;)V", accPublic | accStatic, 61, line}
}

func TestParseClass(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec classSpec
		want class
	}{
		{"main", starting("a/Task", "Task.java", 7), class{"a/Task", "Task.java", 61, staticMain, 7}},
		{"other method", classSpec{"Task", "T.java", "other", "([Ljava/lang/String;)V", 9, 61, 1},
			class{"Task", "T.java", 61, noMain, math.MaxInt}},
		{"not public", classSpec{"Task", "T.java", "main", "([Ljava/lang/String;)V", accStatic, 61, 1},
			class{"Task", "T.java", 61, noMain, math.MaxInt}},
		{"not public, Java 25", classSpec{"Task", "T.java", "main", "([Ljava/lang/String;)V", 0, 69, 1},
			class{"Task", "T.java", 69, instanceMain, 1}},
		{"no arguments, Java 25", classSpec{"Task", "T.java", "main", "()V", 0, 69, 3},
			class{"Task", "T.java", 69, instanceMain, 3}},
		{"private, Java 25", classSpec{"Task", "T.java", "main", "()V", accPrivate, 69, 3},
			class{"Task", "T.java", 69, noMain, math.MaxInt}},
	} {
		if got, err := parseClass(tt.spec.data()); got != tt.want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
	whole := starting("Task", "Task.java", 7).data()
	for n := range whole {
		if c, err := parseClass(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes: %+v", n, len(whole), c)
		}
	}
}

func TestFindEntry(t *testing.T) {
	for _, tt := range []struct {
		name    string
		classes []classSpec
		sources []string
		want    string
		failure string
	}{
		{"the first in the source", []classSpec{starting("B", "x.java", 9), starting("A", "x.java", 2)},
			[]string{"x.java"},
			"A", ""},
		{"called like the source", []classSpec{starting("p/x", "x.java", 9), starting("A", "x.java", 2)},
			[]string{"x.java"},
			"p.x", ""},
		{"of the first source", []classSpec{starting("A", "y.java", 1), starting("B", "x.java", 9)},
			[]string{"x.java", "y.java"}, "B", ""},
		{"of the source that javac renamed", []classSpec{starting("A", "y.java", 9), starting("B", "B.java", 1)},
			[]string{"Main.java", "y.java"}, "B", ""},
		{"an older form is better", []classSpec{{"A", "x.java", "main", "()V", 0, 69, 1}, starting("B", "x.java", 9)},
			[]string{"x.java"}, "B", ""},
		{"runtime of Kotlin", []classSpec{starting("kotlin/A", "x.kt", 1)}, []string{"x.kt"}, "", noEntry},
		{"nothing", nil, []string{"x.java"}, "", noEntry},
		{"a class file that ends early", []classSpec{{name: ""}}, []string{"x.java"}, "", "malformed class file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			jar := writeJar(t, tt.classes)
			program, failure, err := withEntry(jar, t.TempDir(), tt.sources)
			if err != nil || !strings.Contains(failure, tt.failure) || (failure == "") != (tt.failure == "") {
				t.Fatalf("failure %q, %v, want %q", failure, err, tt.failure)
			}
			if program == nil {
				return
			}
			defer program.Close()
			data := new(bytes.Buffer)
			if _, err := data.ReadFrom(program); err != nil {
				t.Fatal(err)
			}
			copied, err := zip.NewReader(bytes.NewReader(data.Bytes()), int64(data.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if len(copied.File) != 1+len(tt.classes) {
				t.Errorf("%d files, want the manifest and %d classes", len(copied.File), len(tt.classes))
			}
			manifest, err := readEntry(copied.File[0], 1<<20)
			want := "Manifest-Version: 1.0\r\nMain-Class: " + tt.want + "\r\n\r\n"
			if string(manifest) != want || err != nil {
				t.Errorf("manifest %q, %v, want %q", manifest, err, want)
			}
		})
	}
}

// writeJar writes a JAR file like the JDK, with folders and a manifest without a class.
func writeJar(t *testing.T, classes []classSpec) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	out := zip.NewWriter(f)
	entries := map[string][]byte{"META-INF/": nil, manifestName: []byte("Manifest-Version: 1.0\r\n\r\n")}
	for _, c := range classes {
		entries[c.name+".class"] = c.data()
	}
	for name, data := range entries {
		w, err := out.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNoJar(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, failure, err := withEntry(f, t.TempDir(), []string{"x.java"}); err != nil ||
		!strings.HasPrefix(failure, "the compiler did not write a JAR file") {
		t.Errorf("failure %q, %v", failure, err)
	}
}

func TestManifestLine(t *testing.T) {
	line := "Main-Class: " + strings.Repeat("x", 200)
	folded := manifestLine(line)
	for part := range strings.SplitSeq(strings.TrimSuffix(folded, "\r\n"), "\r\n") {
		if len(part) > 70 {
			t.Errorf("a line of %d bytes", len(part))
		}
	}
	if got := strings.ReplaceAll(folded, "\r\n ", ""); got != line+"\r\n" {
		t.Errorf("unfolded %q", got)
	}
}

func FuzzParseClass(f *testing.F) {
	f.Add(starting("a/Task", "Task.java", 7).data())
	f.Add(classSpec{"Task", "T.java", "main", "()V", 0, 69, 3}.data())
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := parseClass(data); err == nil && c.name == "" {
			t.Error("a class without a name")
		}
	})
}
