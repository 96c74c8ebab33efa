package problem

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"judged/internal/base/text"
	"judged/internal/base/units"
)

// Test is one test with its files on this host.
type Test struct {
	Name   string
	Input  string // path
	Answer string // path
}

// Set is the tests of one folder or archive, in natural order of their names.
type Set struct {
	Tests []Test
	temp  string // unpacked here, "" for a folder
}

// Close removes what was unpacked.
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

// The bounds of an archive.
const (
	maxEntries  = 20000
	maxUnpacked = units.Bytes(8 << 30)
	// maxDirectory is for the archive's list of its entries.
	maxDirectory = units.Bytes(maxEntries * 512)
)

// OpenTests reads NAME.in with NAME.ans (or .a, .out) from a folder, with the
// folders in it, or from a ZIP archive. An archive is unpacked into a folder of
// its own, which Close removes. Files with other suffixes and hidden ones are
// passed over; an input without an answer, and an answer without an input, are
// errors that name it.
func OpenTests(name string) (*Set, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("open tests: %w; name a folder or a ZIP archive with NAME.in and NAME.ans", err)
	}
	s := &Set{}
	dir := name
	if !info.IsDir() {
		if s.temp, err = os.MkdirTemp("", "judged-tests-"); err != nil {
			return nil, fmt.Errorf("unpack tests: %w", err)
		}
		if err := unpack(name, s.temp); err != nil {
			return nil, errors.Join(fmt.Errorf("unpack tests %q: %w", name, err), s.Close())
		}
		dir = s.temp
	}
	if s.Tests, err = readTests(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("read tests %q: %w", name, err), s.Close())
	}
	return s, nil
}

func readTests(dir string) ([]Test, error) {
	f := files{path: map[string]string{}, double: map[string]string{}}
	if err := f.read(dir); err != nil {
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
		return nil, errors.New("there are none; add NAME.in and NAME.ans")
	}
	slices.SortFunc(tests, func(a, b Test) int { return text.Natural(a.Name, b.Name) })
	return tests, nil
}

// files are those of a folder and of those inside. As in an archive only the
// last part of a name counts.
type files struct {
	path   map[string]string // by the last part of the name
	double map[string]string // a second file of the same name
	seen   int
}

// read adds what lies in dir. Like an archive it has a bound: dir may be the
// wrong one, and all of a disk below it.
func (f *files) read(dir string) error {
	entries, err := os.ReadDir(dir)
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
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			if err := f.read(path); err != nil {
				return err
			}
			continue
		}
		// Stat follows links, which a folder of one's own may have.
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			f.add(e.Name(), path)
		}
	}
	return nil
}

func (f *files) add(name, path string) {
	if _, there := f.path[name]; there {
		f.double[name] = path
		return
	}
	f.path[name] = path
}

// unique refuses names that two files have.
func (f *files) unique(names ...string) error {
	for _, n := range names {
		if other, ok := f.double[n]; ok {
			return fmt.Errorf("%q and %q have the same name; rename one of them", f.path[n], other)
		}
	}
	return nil
}

// hidden files are no tests: a Mac packs "._1.in" beside each "1.in".
func hidden(name string) bool { return strings.HasPrefix(name, ".") }

func (f *files) answerOf(base string) string {
	for _, suffix := range answerSuffixes {
		if f.path[base+suffix] != "" {
			return base + suffix
		}
	}
	return ""
}

// checkAnswer refuses a .ans without an input: a test that would silently be
// left out. The other suffixes are too common to mean anything alone.
func (f *files) checkAnswer(name string) error {
	base, ok := strings.CutSuffix(name, answerSuffixes[0])
	if ok && f.path[base+inputSuffix] == "" {
		return fmt.Errorf("answer %q has no input; add %s.in", name, base)
	}
	return nil
}

// unpack writes the archive's files flat into dir. Folders inside do not
// matter, only the last part of a name is used, and two files that become the
// same are an error.
func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	directory := &bounded{f: f, left: maxDirectory}
	z, err := zip.NewReader(directory, info.Size())
	if directory.left < 0 {
		return fmt.Errorf("its list of entries is larger than %s; split the archive", maxDirectory)
	}
	if err != nil {
		return fmt.Errorf("%w; give a folder or a ZIP archive", err)
	}
	directory.left = math.MaxInt64 // from here on what is unpacked counts
	if len(z.File) > maxEntries {
		return fmt.Errorf("%d entries; at most %d are read", len(z.File), maxEntries)
	}
	left := int64(maxUnpacked)
	for _, f := range z.File {
		if !f.Mode().IsRegular() || hidden(baseName(f)) {
			continue // folders, links, devices
		}
		n, err := unpackFile(f, dir, left)
		if err != nil {
			return fmt.Errorf("entry %q: %w", f.Name, err)
		}
		left -= n
	}
	return nil
}

// bounded is a file of which only so much is read. Package zip makes an entry of
// each of an archive's before anybody can count them, and what the archive says
// of their number is true modulo 65536 only.
type bounded struct {
	f    *os.File
	left units.Bytes
}

func (b *bounded) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= units.Bytes(len(p)); b.left < 0 {
		return 0, errors.New("read beyond the bound")
	}
	return b.f.ReadAt(p, at)
}

// baseName is the last part of an entry's name, of archives made on Windows
// too.
func baseName(f *zip.File) string { return path.Base(strings.ReplaceAll(f.Name, `\`, "/")) }

func unpackFile(f *zip.File, dir string, left int64) (int64, error) {
	name := baseName(f)
	if !fs.ValidPath(name) || name == "." {
		return 0, errors.New("has no usable name; rename it")
	}
	src, err := f.Open()
	if err != nil {
		return 0, fmt.Errorf("%w; pack the archive anew", err)
	}
	defer src.Close()
	dst, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return 0, errors.New("another entry has the same name; rename one of them")
	}
	if err != nil {
		return 0, err
	}
	// One byte more than allowed tells too much from just enough: the size
	// in the archive's own words cannot be believed.
	n, err := io.Copy(dst, io.LimitReader(src, left+1))
	if err != nil && !errors.As(err, new(*fs.PathError)) { // of reading: the archive's fault
		err = fmt.Errorf("%w; pack the archive anew", err)
	}
	err = errors.Join(err, dst.Close())
	if err == nil && n > left {
		err = fmt.Errorf("more than %s unpacked; split the archive", maxUnpacked)
	}
	return n, err
}
