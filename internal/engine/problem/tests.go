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
	"judged/internal/base/units"
)

// Test is one test with its files on this host.
type Test struct {
	Name   string
	Input  string     // path; "" means empty input
	Answer string     // path; "" means that the output is not compared
	Limits api.Limits // zero members mean those of the job
	// Args, CheckerArgs and Files are those of api.Test.
	Args, CheckerArgs []string
	Files             []File
	ValidatorArgs     map[string][]string // of input validators, by the names of their programs; "" is all others
}

// ArgsOf returns the arguments of an input validator.
func (t Test) ArgsOf(v Validator) []string {
	if args, own := t.ValidatorArgs[v.Program.Name]; own {
		return args
	}
	return t.ValidatorArgs[""]
}

// Job returns the test as part of a job. Its files are parts that name paths on this host.
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

// Set holds the tests of one folder or archive in natural order of their names.
type Set struct {
	Tests []Test
	temp  string // folder of an unpacked archive, otherwise ""
}

// Close removes the temporary folder.
func (s *Set) Close() error {
	if s.temp == "" {
		return nil
	}
	return os.RemoveAll(s.temp)
}

// inputSuffix is the suffix of inputs in packages.
const inputSuffix = ".in"

// MaxUnpacked is the maximum size of the content of an archive or folder, and so of each file.
const MaxUnpacked = units.Bytes(8 << 30)

// Other limits of archives.
const (
	maxEntries = 20000
	// maxDirectory is the maximum size of the directory of the archive.
	maxDirectory = maxEntries * entrySize
)

// OpenTests reads tests from a folder and its subfolders, or from an archive: NAME.in with NAME.ans (or .a, .out), and
// the other layouts in pairs.go. It unpacks an archive into a temporary folder, or copies the tests of a folder to one.
// Close removes that folder. Hidden and other files are ignored. An input without an answer, and an answer without an
// input, are errors. If an interactor judges, answers may be missing for all tests. If ctx is done, OpenTests returns
// its error.
func OpenTests(ctx context.Context, name string, interactive bool) (*Set, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("open tests: %w; give a folder or a ZIP archive with NAME.in and NAME.ans", err)
	}
	s := &Set{}
	if s.temp, err = os.MkdirTemp("", "judged-tests-"); err != nil {
		return nil, fmt.Errorf("copy tests: %w", err)
	}
	dir := name
	if !info.IsDir() {
		if err := unpackTree(ctx, name, s.temp); err != nil {
			return nil, errors.Join(fmt.Errorf("unpack tests %q: %w", name, err), s.Close())
		}
		dir = s.temp
	}
	if err = s.read(dir, interactive); err == nil && info.IsDir() {
		err = s.copy(ctx, dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read tests %q: %w", name, err), s.Close())
	}
	for i := range s.Tests {
		for _, file := range []*string{&s.Tests[i].Input, &s.Tests[i].Answer} {
			if *file != "" {
				*file = filepath.Join(s.temp, *file)
			}
		}
	}
	return s, nil
}

// read finds the tests in a folder. Their paths are relative to the folder.
func (s *Set) read(dir string, interactive bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("%w; make the folder readable", err)
	}
	defer root.Close()
	f := files{root: root}
	if err := f.read("."); err != nil {
		return err
	}
	s.Tests, err = pair(f.names, interactive)
	if err != nil {
		return err
	}
	for _, t := range s.Tests {
		for _, name := range []string{t.Input, t.Answer} {
			if slices.Contains(f.dangling, name) {
				return fmt.Errorf("%q is a link that is broken or leads out of the folder; replace it with the file", name)
			}
		}
	}
	return nil
}

// copy copies the files of the tests with their folders.
func (s *Set) copy(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	c := newCopier(ctx, beneath(root))
	for _, t := range s.Tests {
		for _, name := range []string{t.Input, t.Answer} {
			if name == "" {
				continue
			}
			to := filepath.Join(s.temp, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				return err
			}
			if err := c.copy(name, to, nil); err != nil {
				return fmt.Errorf("read test %q: %w; make the file readable", t.Name, err)
			}
		}
	}
	return nil
}

// files holds the files of a folder and its subfolders.
type files struct {
	root     *os.Root
	names    []string // relative to the folder
	dangling []string // links that are broken or lead out of the folder
	seen     int
}

// read adds the files of dir. It limits their number, because dir may be the root of a disk by mistake.
func (f *files) read(dir string) error {
	entries, err := fs.ReadDir(f.root.FS(), dir)
	if err != nil {
		return fmt.Errorf("%w; make the folder readable", err)
	}
	if f.seen += len(entries); f.seen > maxEntries {
		return fmt.Errorf("more than %d entries; give the folder with the tests", maxEntries)
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
		if err != nil {
			f.dangling = append(f.dangling, name)
		}
		if err != nil || info.Mode().IsRegular() {
			f.names = append(f.names, name)
		}
	}
	return nil
}

// hidden reports whether a file is hidden. Hidden files are not tests: archives made on macOS have a "._1.in" for each
// "1.in".
func hidden(name string) bool { return strings.HasPrefix(name, ".") }
