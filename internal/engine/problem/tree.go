package problem

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"judged/internal/base/units"
)

// tree holds the files of a package.
type tree struct {
	ctx     context.Context // stops the reading
	dir     string
	names   []string // paths with slashes, sorted
	broken  []brokenLink
	digest  string
	read    units.Bytes // size of settings read so far
	aliases int         // number of aliases in them
	find    finder
	used    map[string]bool // files that were read or that jobs will have
}

// timeLimitFile is a file of DOMjudge with a hidden name.
const timeLimitFile = ".timelimit"

// readTree lists the files of a package in dir, or in its only folder if dir contains no package itself. It copies the
// files to the empty folder to. If to is "", the files are copies from an archive already.
func readTree(ctx context.Context, dir, to string) (*tree, error) {
	root, dir, err := openPackageFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	t := &tree{ctx: ctx, dir: to, used: map[string]bool{}}
	if to == "" {
		t.dir = dir
	}
	from := beneath(root)
	if to != "" {
		var opened *os.File
		if from, opened, err = following(root); err != nil {
			return nil, err
		}
		defer opened.Close()
	}
	top, err := fs.Stat(from.files, ".")
	if err != nil {
		return nil, err
	}
	w := walker{ctx: ctx, from: from}
	if err := w.list(".", []fs.FileInfo{top}); err != nil {
		return nil, err
	}
	slices.Sort(w.names)
	t.names, t.broken = w.names, w.broken
	return t, t.copy(from, to != "")
}

// mainFiles are the files that identify the formats.
var mainFiles = []string{"problem.yaml", "problem.xml", domjudgeFile, cmsFile, dmojFile, sinolFile}

// mainFileNames lists mainFiles for messages: "problem.yaml or problem.xml".
func mainFileNames() string {
	last := len(mainFiles) - 1
	return strings.Join(mainFiles[:last], ", ") + " or " + mainFiles[last]
}

// openPackageFolder opens dir or its only folder, because archives often contain the package in a folder. It returns
// the path of the opened folder.
func openPackageFolder(dir string) (*os.Root, string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	for _, name := range mainFiles {
		if _, err := root.Lstat(name); err == nil {
			return root, dir, nil
		}
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return root, dir, nil
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return isOfTools(e.Name())
	})
	if len(entries) != 1 || !entries[0].IsDir() {
		return root, dir, nil
	}
	defer root.Close()
	only, err := root.OpenRoot(entries[0].Name())
	return only, filepath.Join(dir, entries[0].Name()), err
}

// copy reads all files, copies them if necessary, and sets the digest of names and contents. The digest of a folder and
// of its archives is the same.
func (t *tree) copy(from origin, copies bool) error {
	c, all := newCopier(t.ctx, from), sha256.New()
	for _, name := range t.names {
		to := ""
		if copies {
			to = t.path(name)
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				return err
			}
		}
		one := sha256.New()
		if err := c.copy(name, to, one); err != nil {
			return err
		}
		fmt.Fprintf(all, "%x %s\x00", one.Sum(nil), name)
	}
	t.digest = hex.EncodeToString(all.Sum(nil))
	return nil
}

func (t *tree) has(name string) bool {
	_, found := slices.BinarySearch(t.names, name)
	return found
}

// howToMake says how tests are made that a package of BAPCtools describes, or nothing.
func (t *tree) howToMake() string {
	if !t.has("generators/generators.yaml") {
		return ""
	}
	return "; generators/generators.yaml describes tests: run bt generate before"
}

// path returns the path of a file on this host.
func (t *tree) path(name string) string { return filepath.Join(t.dir, filepath.FromSlash(name)) }

// use is like path, and also records that the file affects judging.
func (t *tree) use(name string) string {
	t.used[name] = true
	return t.path(name)
}

// content returns the content of a file, which has at most the given size.
func (t *tree) content(name string, most units.Bytes) ([]byte, error) {
	f, err := os.Open(t.use(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(untilDone{t.ctx, f}, int64(most)+1))
	if err == nil && units.Bytes(len(b)) > most {
		err = fmt.Errorf("%q is larger than %s; make it smaller", name, most)
	}
	return b, err
}

// under lists the files below a folder, with names relative to it.
func (t *tree) under(folder string) []File {
	var files []File
	first, _ := slices.BinarySearch(t.names, folder+"/")
	for _, name := range t.names[first:] {
		rest, ok := strings.CutPrefix(name, folder+"/")
		if !ok {
			break
		}
		files = append(files, File{rest, t.path(name)})
	}
	return files
}

// maxHeaders is the maximum number of headers that each program gets from its folder.
const maxHeaders = 100

// programs lists the programs in a folder: single files, and folders with several files. C and C++ sources include the
// headers next to them.
func (t *tree) programs(folder string) []Program {
	byName := map[string]*Program{}
	var headers []File
	for _, f := range t.under(folder) {
		name, rest, isFolder := strings.Cut(f.Name, "/")
		if !isFolder {
			rest = name
			if slices.Contains(headerEndings, path.Ext(name)) {
				headers = append(headers, f)
			}
		}
		p := byName[name]
		if p == nil {
			p = &Program{Name: path.Join(folder, name)}
			byName[name] = p
		}
		p.Files = append(p.Files, File{rest, f.Path})
	}
	var programs []Program
	included := false
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		p := *byName[name]
		p.Language = languageOf(p.Files)
		if p.Language == "python" && slices.ContainsFunc(p.Files, isPython2) {
			p.Language = "python2"
		}
		language := languageByEnding[path.Ext(name)]
		if (language == "c" || language == "cpp") && len(headers) <= maxHeaders {
			p.Files = append(p.Files, headers...)
			included = true
		}
		programs = append(programs, p)
	}
	return slices.DeleteFunc(programs, func(p Program) bool {
		return included && slices.Contains(headers, p.Files[0])
	})
}
