package problem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
)

// Test is one test with its files on this host.
type Test struct {
	Name   string
	Input  string     // path; "" means empty input
	Answer string     // path; "" means that output is not compared
	Limits api.Limits // complete; zero means those of the job
	// Args, CheckerArgs and Files are those of api.Test.
	Args, CheckerArgs []string
	Files             []File
	ValidatorArgs     map[string][]string // of input validators, by the names of their programs
}

// Job is the test as a job has it. Files are parts that name paths of this host.
func (t Test) Job() api.Test {
	j := api.Test{Name: t.Name, Limits: t.Limits, Args: t.Args, CheckerArgs: t.CheckerArgs}
	if t.Input != "" {
		j.Input = &api.File{Part: t.Input}
	}
	if t.Answer != "" {
		j.Answer = &api.File{Part: t.Answer}
	}
	for _, f := range t.Files {
		if j.Files == nil {
			j.Files = map[string]api.File{}
		}
		j.Files[f.Name] = api.File{Part: f.Path}
	}
	return j
}

// Set is the tests of one folder or archive, in natural order of their names.
type Set struct {
	Tests []Test
	temp  string // folder of an unpacked archive, else ""
}

// Close removes the temporary folder.
func (s *Set) Close() error {
	if s.temp == "" {
		return nil
	}
	return os.RemoveAll(s.temp)
}

// inputSuffix ends the name of an input; answerSuffixes those of its answer,
// the first one that exists.
const inputSuffix = ".in"

var answerSuffixes = [...]string{".ans", ".a", ".out"}

// MaxUnpacked bounds the content of an archive or a folder, and so each file of it.
const MaxUnpacked = units.Bytes(8 << 30)

// The other bounds of an archive.
const (
	maxEntries = 20000
	// maxDirectory is for the archive's list of its entries.
	maxDirectory = units.Bytes(maxEntries * 512)
)

// OpenTests reads NAME.in with NAME.ans (or .a, .out) from a folder and its subfolders, or from a ZIP archive. It unpacks
// an archive into a temporary folder, and copies the tests of a folder to one; Close removes it. Files with other suffixes
// and hidden files are ignored. An input without an answer, or an answer without an input, is an error that names it.
// It ends with the error of ctx when that is done.
func OpenTests(ctx context.Context, name string) (*Set, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("open tests: %w; name a folder or a ZIP archive with NAME.in and NAME.ans", err)
	}
	s := &Set{}
	if s.temp, err = os.MkdirTemp("", "judged-tests-"); err != nil {
		return nil, fmt.Errorf("copy tests: %w", err)
	}
	dir := name
	if !info.IsDir() {
		if err := unpack(ctx, name, s.temp); err != nil {
			return nil, errors.Join(fmt.Errorf("unpack tests %q: %w", name, err), s.Close())
		}
		dir = s.temp
	}
	if s.Tests, err = readTests(dir); err == nil && info.IsDir() {
		err = s.copy(ctx, dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read tests %q: %w", name, err), s.Close())
	}
	for i := range s.Tests {
		t := &s.Tests[i]
		t.Input, t.Answer = filepath.Join(s.temp, filepath.Base(t.Input)), filepath.Join(s.temp, filepath.Base(t.Answer))
	}
	return s, nil
}

// copy copies the files of the tests. Their names differ without their folders too.
func (s *Set) copy(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	c := newCopier(ctx, beneath(root))
	for _, t := range s.Tests {
		for _, name := range []string{t.Input, t.Answer} {
			if err := c.copy(name, filepath.Join(s.temp, filepath.Base(name)), nil); err != nil {
				return fmt.Errorf("read test %q: %w; make the file readable", t.Name, err)
			}
		}
	}
	return nil
}

func readTests(dir string) ([]Test, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%w; make the folder readable", err)
	}
	defer root.Close()
	f := files{root: root, path: map[string]string{}, double: map[string]string{}}
	if err := f.read("."); err != nil {
		return nil, err
	}
	var tests []Test
	for name := range f.path {
		base, ok := strings.CutSuffix(name, inputSuffix)
		if !ok {
			if err := f.checkAnswer(name); err != nil {
				return nil, err
			}
			continue
		}
		answer := f.answerOf(base)
		if answer == "" {
			return nil, fmt.Errorf("input %q has no answer; add %s.ans", name, base)
		}
		if err := f.unique(name, answer); err != nil {
			return nil, err
		}
		tests = append(tests, Test{Name: base, Input: f.path[name], Answer: f.path[answer]})
	}
	if len(tests) == 0 {
		return nil, errors.New("no tests found; add NAME.in and NAME.ans")
	}
	slices.SortFunc(tests, func(a, b Test) int { return text.Natural(a.Name, b.Name) })
	return tests, nil
}

// files are those of a folder and its subfolders. As in an archive, only the last part of a name counts.
type files struct {
	root   *os.Root
	path   map[string]string // in the folder, by the last part of the name
	double map[string]string // a second file of the same name
	seen   int
}

// read adds the files of dir. Like the size of an archive, their number is bounded: dir may be the root of a disk by
// mistake.
func (f *files) read(dir string) error {
	entries, err := fs.ReadDir(f.root.FS(), dir)
	if err != nil {
		return fmt.Errorf("%w; make the folder readable", err)
	}
	if f.seen += len(entries); f.seen > maxEntries {
		return fmt.Errorf("more than %d entries; name the folder that has the tests", maxEntries)
	}
	for _, e := range entries {
		if hidden(e.Name()) {
			continue
		}
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			if err := f.read(name); err != nil {
				return err
			}
			continue
		}
		// Stat follows symbolic links within the folder.
		info, err := f.root.Stat(name)
		switch {
		case err == nil && info.Mode().IsRegular():
			f.add(e.Name(), name)
		case err != nil && isTestFile(name):
			return fmt.Errorf("%q is a link that leads out of the folder or nowhere; put the file in its place", name)
		}
	}
	return nil
}

func isTestFile(name string) bool {
	return strings.HasSuffix(name, inputSuffix) ||
		slices.ContainsFunc(answerSuffixes[:], func(s string) bool { return strings.HasSuffix(name, s) })
}

func (f *files) add(name, path string) {
	if _, there := f.path[name]; there {
		f.double[name] = path
		return
	}
	f.path[name] = path
}

// unique refuses names that more than one file has.
func (f *files) unique(names ...string) error {
	for _, n := range names {
		if other, ok := f.double[n]; ok {
			return fmt.Errorf("%q and %q have the same name; rename one of them", f.path[n], other)
		}
	}
	return nil
}

// hidden files are not tests: archives made on macOS have a "._1.in" for each "1.in".
func hidden(name string) bool { return strings.HasPrefix(name, ".") }

func (f *files) answerOf(base string) string {
	for _, suffix := range answerSuffixes {
		if f.path[base+suffix] != "" {
			return base + suffix
		}
	}
	return ""
}

// checkAnswer refuses a .ans without an input, and both in upper case, so that no test is silently left out. The other
// suffixes are too common.
func (f *files) checkAnswer(name string) error {
	base, ok := strings.CutSuffix(name, answerSuffixes[0])
	lower := strings.ToLower(name)
	switch {
	case ok && f.path[base+inputSuffix] == "":
		return fmt.Errorf("answer %q has no input; add %s.in", name, base)
	case !ok && (strings.HasSuffix(lower, inputSuffix) || strings.HasSuffix(lower, answerSuffixes[0])):
		return fmt.Errorf("%q would not be used; tests are called NAME.in and NAME.ans: rename it", name)
	}
	return nil
}

// unpack writes all files of the archive into dir, without subfolders. Two files with the same last part of their names are
// an error.
func unpack(ctx context.Context, archive, dir string) error {
	left := int64(MaxUnpacked)
	return eachEntry(ctx, archive, func(e entry) error {
		if !e.mode.IsRegular() || hidden(path.Base(e.name)) {
			return nil // folders, links, devices
		}
		n, err := unpackFile(e, dir, left)
		left -= n
		return err
	})
}

func unpackFile(e entry, dir string, left int64) (int64, error) {
	name := path.Base(e.name)
	if !fs.ValidPath(name) || name == "." {
		return 0, errors.New("invalid name; rename it")
	}
	dst, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return 0, errors.New("another entry has the same name; rename one of them")
	}
	if err != nil {
		return 0, err
	}
	return e.copyTo(dst, left)
}
