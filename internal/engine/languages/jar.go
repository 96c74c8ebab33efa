package languages

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"judged/internal/base/diskcache"
	"judged/internal/base/units"
)

// Limits of a JAR file that judged reads. A compiler writes one file for each class.
const (
	maxJarFiles                = 50_000
	maxClass       units.Bytes = 16 << 20
	maxJarUnpacked units.Bytes = 512 << 20
)

const manifestName = "META-INF/MANIFEST.MF"

// kotlinRuntime is the prefix of the names of classes that the Kotlin compiler adds.
const kotlinRuntime = "kotlin/"

// noEntry is the reason why a JAR file is not a program.
const noEntry = "no class has a method public static void main(String[])"

// withEntry copies a JAR file to a new, unnamed file in a folder, with a manifest that names the class to start. That
// is a class with a main method. Of several it is the one with the best kind of main, then the one with the name of the
// first source, then the first one in the sources. sources are their names, the first source first. failure is the
// reason if the JAR file has no such class.
func withEntry(jar *os.File, folder string, sources []string) (program *os.File, failure string, err error) {
	info, err := jar.Stat()
	if err != nil {
		return nil, "", err
	}
	archive, err := zip.NewReader(jar, info.Size())
	if err != nil {
		return nil, fmt.Sprintf("the compiler did not write a JAR file: %v", err), nil
	}
	found, failure := findEntry(archive, sources)
	if failure != "" {
		return nil, failure, nil
	}
	out, err := os.CreateTemp(folder, diskcache.Unfinished)
	if err != nil {
		return nil, "", err
	}
	err = errors.Join(os.Remove(out.Name()), copyJar(out, archive, found))
	if err == nil {
		_, err = out.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, "", errors.Join(err, out.Close())
	}
	return out, "", nil
}

// findEntry returns the name of the class to start, or the reason if there is no such class.
func findEntry(archive *zip.Reader, sources []string) (name, failure string) {
	if len(archive.File) > maxJarFiles {
		return "", fmt.Sprintf("the compiler wrote %d files; %d are read", len(archive.File), maxJarFiles)
	}
	var all []class
	left := maxJarUnpacked
	for _, f := range archive.File {
		if path.Ext(f.Name) != ".class" || f.Name == "module-info.class" {
			continue
		}
		data, err := readEntry(f, min(left, maxClass))
		if err != nil {
			return "", fmt.Sprintf("read %q of the JAR file: %v", f.Name, err)
		}
		left -= units.Bytes(len(data))
		c, err := parseClass(data)
		if err != nil {
			return "", fmt.Sprintf("read %q of the JAR file: %v", f.Name, err)
		}
		if c.main != noMain && c.name+".class" == f.Name && !strings.HasPrefix(c.name, kotlinRuntime) {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return "", noEntry
	}
	entry := strings.TrimSuffix(sources[0], path.Ext(sources[0]))
	// A source that javac required under another name is the first one, which had no name.
	place := func(c class) int { return max(slices.Index(sources, c.source), 0) }
	best := slices.MinFunc(all, func(a, b class) int {
		return cmp.Or(cmp.Compare(b.main, a.main), cmp.Compare(isCalled(b, entry), isCalled(a, entry)),
			cmp.Compare(place(a), place(b)), cmp.Compare(a.line, b.line), cmp.Compare(a.name, b.name))
	})
	return strings.ReplaceAll(best.name, "/", "."), ""
}

// isCalled returns 1 for a class with that name in any package, otherwise 0.
func isCalled(c class, name string) int {
	if path.Base(c.name) == name {
		return 1
	}
	return 0
}

func readEntry(f *zip.File, most units.Bytes) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && units.Bytes(len(data)) > most {
		err = fmt.Errorf("more than %s", most)
	}
	return data, errors.Join(err, r.Close())
}

// copyJar writes a JAR file with another manifest, which comes first, and without folders, which are not needed.
func copyJar(to io.Writer, from *zip.Reader, entry string) error {
	out := zip.NewWriter(to)
	w, err := out.Create(manifestName)
	if err == nil {
		_, err = io.WriteString(w, "Manifest-Version: 1.0\r\n"+manifestLine("Main-Class: "+entry)+"\r\n")
	}
	for _, f := range from.File {
		if err == nil && f.Name != manifestName && !strings.HasSuffix(f.Name, "/") {
			err = out.Copy(f)
		}
	}
	return errors.Join(err, out.Close())
}

// manifestLine folds a line of a manifest: it has at most 72 bytes including its end.
func manifestLine(line string) string {
	const most = 70
	var b strings.Builder
	for prefix := ""; line != ""; prefix = " " {
		n := min(len(line), most-len(prefix))
		b.WriteString(prefix + line[:n] + "\r\n")
		line = line[n:]
	}
	return b.String()
}
