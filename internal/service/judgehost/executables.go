package judgehost

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/engine/languages"
	"judged/internal/sandbox"
)

// The names of files of an executable in the protocol.
const (
	buildFile = "build"
	runFile   = "run"
)

// executable is a jury program that has been built.
type executable struct {
	held
	files         []sandbox.File
	onlyRedirects bool // a run script that only redirects stdin and stdout
}

// scripts maps the types of executables to what the server disables if one fails.
var scripts = map[string]faultKind{"compile": faultCompile, "run": faultRun, "compare": faultCompare}

// executable fetches an executable and builds it, once for each ID and hash.
func (s *Service) executable(ctx context.Context, kind string, id stringOrNumber, hash string) (executable, error) {
	h, err := s.store.get(ctx, fmt.Sprintf("executable %s %s %s", kind, id, hash),
		func(ctx context.Context, folder string) error { return s.makeExecutable(ctx, folder, kind, id, hash) })
	if err != nil {
		return executable{}, blame(scripts[kind], id, fmt.Errorf("fetch, compile or deploy %s script %s: %w", kind, id, err))
	}
	files, err := filesIn(h.Path)
	if err != nil {
		h.Release()
		return executable{}, err
	}
	_, err = os.Stat(filepath.Join(h.Path, redirectMark))
	return executable{h, files, err == nil}, nil
}

// makeExecutable fills a folder with the files that an executable needs to run.
func (s *Service) makeExecutable(ctx context.Context, folder, kind string, id stringOrNumber, hash string) error {
	fetched, err := os.MkdirTemp(s.scratch, "executable-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fetched)
	var files map[string]written
	err = s.client.do(ctx, request{method: "GET", path: fmt.Sprintf("judgehosts/get_files/%s/%s", kind, id),
		limit: mediumAnswer, take: func(in io.Reader) (err error) {
			if files, err = writeFiles(in, fetched); err != nil {
				return err
			}
			if got := executableHash(files); got != hash {
				return &contentError{fmt.Errorf("unexpected hash %s; the task says %s", got, hash)}
			}
			return nil
		}})
	if err != nil {
		return err
	}
	command, err := s.buildCommand(files)
	if err != nil {
		return err
	}
	if command == nil {
		err = copyTree(folder, fetched)
	} else {
		err = s.build(ctx, folder, fetched, command)
	}
	if err != nil || kind != "run" {
		return err
	}
	return markRedirect(folder, fetched)
}

// executableHash returns the hash of the files of an executable.
func executableHash(files map[string]written) string {
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all.WriteString(files[name].md5 + name)
		if files[name].Exec {
			all.WriteString("1")
		}
	}
	sum := md5.Sum([]byte(all.String()))
	return hex.EncodeToString(sum[:])
}

// buildCommand returns the command that builds an executable in its folder, or nil if it needs no build.
func (s *Service) buildCommand(files map[string]written) ([]string, error) {
	if build, ok := files[buildFile]; ok {
		if !build.Exec {
			return nil, &contentError{errors.New("its file build is not executable")}
		}
		return []string{"./" + buildFile}, nil
	}
	if _, ok := files[runFile]; ok {
		return nil, nil
	}
	for _, l := range sourceLanguages {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			extension := strings.TrimPrefix(filepath.Ext(name), ".")
			if slices.Contains(s.extensions[l.id], extension) {
				return []string{"/bin/sh", "-c", l.build, "build", name, strings.TrimSuffix(name, "."+extension)}, nil
			}
		}
	}
	return nil, &contentError{errors.New("no file named build, and no source in C, C++, Java or Python")}
}

// sourceLanguages are the languages of executables without a build script, in the order of the search. build receives
// the name of the source, with and without its extension.
var sourceLanguages = []struct {
	id         string
	extensions []string // unless the server lists others
	build      string
}{
	{"c", []string{"c"}, `gcc -Wall -O2 -std=gnu11 "$1" -o run -lm`},
	{"cpp", []string{"cpp", "C", "cc"}, `g++ -Wall -O2 -std=gnu++20 "$1" -o run`},
	{"java", []string{"java"}, `javac -d . "$1" && printf '#!/bin/sh\nexec java -cp "${0%%/*}" %s "$@"\n' "$2" >run &&
chmod +x run`},
	{"py", []string{"py"}, `printf '#!/bin/sh\nexec python3 "${0%%/*}/%s" "$@"\n' "$1" >run && chmod +x run`},
}

// extensionsOf returns the extensions of sourceLanguages, where those that the server lists take precedence.
func extensionsOf(known []language) map[string][]string {
	all := map[string][]string{}
	for _, l := range sourceLanguages {
		all[l.id] = l.extensions
	}
	for _, l := range known {
		if _, ok := all[l.ID]; ok && len(l.Extensions) > 0 {
			all[l.ID] = l.Extensions
		}
	}
	return all
}

// build builds an executable in the sandbox and copies the resulting files.
func (s *Service) build(ctx context.Context, folder, from string, command []string) error {
	files, err := filesIn(from)
	if err != nil {
		return err
	}
	c := s.config()
	ended, err := s.engine.RunScript(ctx, languages.Script{Command: command, Files: files,
		Limits: scriptLimits(c.ScriptTimeLimit, c.ScriptMemory, c.ScriptFileSize)},
		func(root *os.Root) error { return copyRoot(folder, root) })
	switch {
	case err != nil:
		return err
	case ended.Failure != "":
		return &contentError{fmt.Errorf("build failed: %s\n%s", strings.Replace(ended.Failure, "the compiler", "it", 1),
			ended.Output)}
	}
	info, err := os.Stat(filepath.Join(folder, runFile))
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0):
		return &contentError{fmt.Errorf("its build script created no file \"run\"\n%s", ended.Output)}
	case err != nil:
		return err
	}
	return nil
}

// wallFactor is the ratio of a script's wall time limit to its time limit, which applies to its CPU time here. Other
// scripts that run at the same time may slow it down.
const wallFactor = 3

// scriptProcesses is the maximum number of processes and threads of a script.
const scriptProcesses = 1000

// scriptLimits converts the limits of a script from the units of the protocol.
func scriptLimits(seconds, memoryKB, fileKB number) sandbox.Limits {
	limit := time.Duration(float64(seconds) * float64(time.Second))
	memory := units.Bytes(memoryKB) << 10
	return sandbox.Limits{CPUTime: limit, WallTime: wallFactor * limit, Memory: memory,
		Output: units.Bytes(fileKB) << 10, Stack: memory, Processes: scriptProcesses}
}

// JuryLimits returns the limits of checkers and interactors, which are those of scripts.
func (c Config) JuryLimits() sandbox.Limits {
	return scriptLimits(c.ScriptTimeLimit, c.ScriptMemory, c.ScriptFileSize)
}

// filesIn lists the regular files in a folder, to put them into a working directory.
func filesIn(folder string) (files []sandbox.File, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Base(path) == redirectMark {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		files = append(files, sandbox.File{Name: name, Path: path, Exec: info.Mode()&0o111 != 0})
		return err
	})
	return files, err
}

func copyTree(to, from string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	return copyRoot(to, root)
}

// The maximum number and size of the files that a script may create.
const (
	maxLeftFiles = 20_000
	maxLeftBytes = 4 << 30
)

// copyRoot copies the regular files of a folder. The folder may come from a hostile program.
func copyRoot(to string, root *os.Root) error {
	files, bytes := 0, int64(0)
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case files == maxLeftFiles:
			return &contentError{fmt.Errorf("created more than %d files", maxLeftFiles)}
		case d.IsDir():
			files++
			return os.Mkdir(filepath.Join(to, name), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		if bytes += info.Size(); bytes > maxLeftBytes {
			return &contentError{fmt.Errorf("created more than %s", units.Bytes(maxLeftBytes))}
		}
		return copyFile(filepath.Join(to, name), root, name, info.Mode())
	})
}

func copyFile(to string, root *os.Root, name string, mode fs.FileMode) error {
	from, err := root.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|mode&0o111)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Sync(), f.Close())
}

// redirectMark is the name of a file in the folder of a run script that only redirects stdin and stdout. judged
// redirects them itself.
const redirectMark = ".only-redirects"

// markRedirect marks the folder of a run script if the script only redirects. It removes a file with that name that came
// with the script.
func markRedirect(folder, fetched string) error {
	mark := filepath.Join(folder, redirectMark)
	if err := os.RemoveAll(mark); err != nil {
		return err
	}
	build, err := os.ReadFile(filepath.Join(fetched, buildFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	run, err := os.ReadFile(filepath.Join(fetched, runFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || len(statements(build)) > 0 || !onlyRedirects(run) {
		return err
	}
	return os.WriteFile(mark, nil, 0o600)
}

// onlyRedirects reports whether a script does nothing except execute its third argument with the file $1 as stdin and
// the file $2 as stdout.
func onlyRedirects(script []byte) bool {
	m := redirect().FindStringSubmatch(strings.Join(statements(script), "\n"))
	return m != nil && m[1] == m[3] && m[2] == m[4] && m[1] != m[2]
}

var redirect = text.Pattern(`^(\w+)="?\$1"? ?; ?shift\n(\w+)="?\$1"? ?; ?shift\n` +
	`(?:exec )?"\$@" ?< ?"?\$(\w+)"? ?> ?"?\$(\w+)"?$`)

// statements returns the lines of a shell script without comments and with single spaces.
func statements(script []byte) (lines []string) {
	for line := range strings.Lines(string(script)) {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}
