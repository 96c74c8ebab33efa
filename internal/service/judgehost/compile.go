package judgehost

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/engine/languages"
	"judged/internal/sandbox"
)

// program is a compiled submission.
type program struct {
	held
	files []sandbox.File
}

// compilation is the result of a compilation as the server needs it. It is stored next to the files of the program.
type compilation struct {
	Failed     bool   `json:"failed"`
	Output     []byte `json:"output"`
	Metadata   string `json:"metadata"`
	EntryPoint string `json:"entry_point"`
}

// The names in the folder of a compilation.
const (
	compilationFile = "compilation.json"
	programFolder   = "program"
	programName     = "program" // what a compile script must create
)

// source is a file of a submission.
type source struct {
	name string
	path string
	// digest is a SHA-256, unlike those of the protocol: who writes two sources with the same MD5 sum must not get the
	// program of the first one for the second one.
	digest string
}

// errCompilerError ends the judging of a submission that does not compile. The server already has that result.
var errCompilerError = errors.New("the submission does not compile")

// compileJob compiles the submission of a batch, reports the result, and returns the program.
func (h *host) compileJob(ctx context.Context, t task) (program, error) {
	if err := h.checkVersions(ctx, t); err != nil {
		return program{}, err
	}
	folder, err := os.MkdirTemp(h.scratch, "sources-")
	if err != nil {
		return program{}, err
	}
	defer os.RemoveAll(folder)
	sources, err := h.sources(ctx, t, folder)
	if err != nil {
		return program{}, err
	}
	c, p, err := h.compile(ctx, t, sources)
	if err != nil {
		return program{}, err
	}
	h.rememberCompilation(t, sources, c)
	if err := h.reportCompilation(ctx, t, c); err != nil {
		p.close()
		return program{}, err
	}
	if c.Failed {
		p.close()
		return program{}, errCompilerError
	}
	return p, nil
}

func (p program) close() {
	if p.Release != nil {
		p.Release()
	}
}

// sources fetches the files of a submission, in their order.
func (s *Service) sources(ctx context.Context, t task, folder string) (sources []source, err error) {
	path := fmt.Sprintf("judgehosts/get_files/source/%s/%s", url.PathEscape(string(t.Contest)),
		url.PathEscape(string(t.Submission)))
	err = s.client.do(ctx, request{method: "GET", path: path, limit: mediumAnswer, take: func(in io.Reader) (err error) {
		sources, err = readSources(in, folder)
		return err
	}})
	if err == nil && len(sources) == 0 {
		err = errors.New("the server has no source files for it")
	}
	if err != nil {
		return nil, fmt.Errorf("fetch sources of submission %s: %w", t.Submission, err)
	}
	return sources, nil
}

// readSources writes the files of a submission to a folder, and replaces its contents.
func readSources(in io.Reader, folder string) (sources []source, err error) {
	if err := empty(folder); err != nil {
		return nil, err
	}
	var f *hashed
	at := func(n int) string { return filepath.Join(folder, fmt.Sprint(n)) }
	err = readFiles(in, func(n int) (_ io.WriteCloser, err error) {
		f, err = newHashed(at(n), sha256.New())
		return f, err
	}, func(n int, named file) error {
		sources = append(sources, source{named.Name, at(n), f.String()})
		return checkName(named.Name)
	})
	return sources, err
}

// compile compiles a submission, or returns the cached result.
func (h *host) compile(ctx context.Context, t task, sources []source) (c compilation, p program, err error) {
	passed := passedSources(t.compile, sources)
	if len(passed) == 0 {
		return compilation{Failed: true, Output: []byte("No files with allowed extensions found to pass to compiler. " +
			"Allowed extensions: " + strings.Join(t.compile.Extensions, ", "))}, program{}, nil
	}
	script, err := h.executable(ctx, "compile", t.CompileScript, t.compile.Hash)
	if err != nil {
		return c, p, err
	}
	defer script.Release()
	once := new(compileOnce)
	kept, err := h.store.get(ctx, compileKey(t, sources, passed), func(ctx context.Context, folder string) error {
		return h.runCompiler(ctx, folder, t, sources, passed, script.Path)
	})
	if errors.As(err, &once) {
		return once.compilation, p, nil
	}
	if err != nil {
		return c, p, err
	}
	p.held = kept
	text, err := os.ReadFile(filepath.Join(kept.Path, compilationFile))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && !c.Failed {
		p.files, err = filesIn(filepath.Join(kept.Path, programFolder))
	}
	if err != nil {
		kept.Release()
		return c, program{}, err
	}
	return c, p, nil
}

// passedSources returns the file names that are passed to the compile script.
func passedSources(c compileConfig, sources []source) (names []string) {
	for _, s := range sources {
		picked := !bool(c.Filter)
		for _, e := range c.Extensions {
			picked = picked || strings.HasSuffix(s.name, e)
		}
		if picked {
			names = append(names, s.name)
		}
	}
	return names
}

// compileKey returns a key that identifies a compilation by all of its inputs.
func compileKey(t task, sources []source, passed []string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %v %v %v %v", t.CompileScript, t.compile.Hash, t.run.EntryPoint, t.run.Memory,
		t.compile.TimeLimit, t.compile.Memory, t.compile.FileSize)
	for _, s := range sources {
		fmt.Fprintf(sum, " %q %q", s.name, s.digest)
	}
	fmt.Fprintf(sum, " %q", passed)
	return fmt.Sprintf("compilation %x", sum.Sum(nil))
}

// compileOnce is the result of a compilation that is not cached, because a repetition may give a different one.
type compileOnce struct{ compilation }

func (e *compileOnce) Error() string { return "the compilation may give a different result next time" }

// scriptFolder holds the compile script and its files. It is next to the folder of the sources.
const scriptFolder = "compile-script"

// runCompiler runs the compile script and copies its result to a folder of the store.
func (h *host) runCompiler(ctx context.Context, folder string, t task, sources []source, passed []string,
	script string) error {
	from, err := os.Open(script)
	if err != nil {
		return err
	}
	defer from.Close()
	s := languages.Script{
		Command: append([]string{languages.FolderOf(scriptFolder) + "/" + runFile, programName,
			fmt.Sprint(int64(t.run.Memory))}, passed...),
		Folder: scriptFolder, From: from,
		Limits: scriptLimits(t.compile.TimeLimit, t.compile.Memory, t.compile.FileSize), Env: quietPyPy(),
	}
	if t.run.EntryPoint != "" {
		s.Env = append(s.Env, "ENTRY_POINT="+string(t.run.EntryPoint))
	}
	for _, f := range sources {
		s.Files = append(s.Files, sandbox.File{Name: f.name, Path: f.path})
	}
	to := filepath.Join(folder, programFolder)
	ended, err := h.engine.RunScript(ctx, s, func(root *os.Root) error {
		return errors.Join(os.Mkdir(to, 0o700), copyRoot(to, root))
	})
	tooMuch := new(contentError)
	if err != nil && !errors.As(err, &tooMuch) {
		return fmt.Errorf("run compile script %s: %w", t.CompileScript, err)
	}
	if line := internalErrorLine().FindSubmatch(ended.Output); line != nil {
		return &fault{kind: faultCompile, id: t.CompileScript, log: string(ended.Output),
			err: fmt.Errorf("the compile script returned an error: %s", line[1])}
	}
	c := compilation{Metadata: scriptMetadata(ended.Result)}
	if c.EntryPoint = entryPointIn(ended.Output); c.EntryPoint != "" {
		c.Metadata += "entry_point: " + c.EntryPoint + "\n"
	}
	var why string
	switch {
	case ended.Stop == sandbox.StopCPU || ended.Stop == sandbox.StopWall:
		why = fmt.Sprintf("aborted after %v seconds,", float64(t.compile.TimeLimit))
	case ended.Failure != "" && ended.Code != 0:
		why = fmt.Sprintf("failed with exitcode %d,", ended.Code)
	case ended.Failure != "":
		why = "failed: " + strings.Replace(ended.Failure, "the compiler", "the compile script", 1) + ";"
	case err != nil:
		why = "failed: the compile script " + tooMuch.Error() + ";"
	default:
		why, err = h.notUsable(to)
		if err != nil {
			return err
		}
		if why != "" {
			why = "failed: " + why + ";"
		}
	}
	if c.Failed = why != ""; c.Failed {
		c.Output = append([]byte("Compiling "+why+" compiler output:\n"), ended.Output...)
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	} else {
		c.Output = entryPointLine().ReplaceAll(ended.Output, nil)
	}
	if ended.Transient {
		return &compileOnce{c}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, compilationFile), text, 0o600)
}

// Patterns for the output of compile scripts that is meant for the judgehost.
var (
	internalErrorLine = text.Pattern(`(?mi)^internal-error: *(.*)$`)
	entryPointLine    = text.Pattern(`(?m)^.*[Dd]etected entry_point: (.*)\n?`)
)

// maxEntryPoint is the longest entry point that fits into the database of the server, in characters.
const maxEntryPoint = 255

// entryPointIn returns the last entry point in the output of a compile script, as DOMjudge does, or "". A submission can
// have the compiler print such a line. It skips what the database of the server refuses, because the server would never
// accept the result.
func entryPointIn(output []byte) (name string) {
	for _, m := range entryPointLine().FindAllSubmatch(output, -1) {
		if found := string(bytes.TrimSpace(m[1])); found != "" && text.CheckLine(found, maxEntryPoint) == nil {
			name = found
		}
	}
	return name
}

// notUsable returns why the result of a compile script is not a program, or "".
func (s *Service) notUsable(folder string) (string, error) {
	info, err := os.Stat(filepath.Join(folder, programName))
	if errors.Is(err, os.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0) {
		return "no executable was created", nil
	}
	if err != nil {
		return "", err
	}
	files, err := filesIn(folder)
	if err != nil {
		return "", err
	}
	var size units.Bytes
	for _, f := range files {
		info, err := os.Stat(f.Path)
		if err != nil {
			return "", err
		}
		size += units.Bytes(info.Size())
	}
	switch {
	case size > s.work.Bytes:
		return fmt.Sprintf("the program has %s; a working directory holds at most %s", size, s.work.Bytes), nil
	case len(files) > s.work.Files:
		return fmt.Sprintf("the program has %d files; a working directory holds at most %d", len(files), s.work.Files), nil
	}
	return "", nil
}

// reportCompilation reports a compilation. It does so once for each job.
func (h *host) reportCompilation(ctx context.Context, t task, c compilation) error {
	form := url.Values{"compile_success": {"1"}, "output_compile": {encoded(h.stored(c.Output))}}
	if c.Metadata != "" {
		form.Set("compile_metadata", encoded([]byte(c.Metadata)))
	}
	if c.Failed {
		form.Set("compile_success", "0")
	}
	if c.EntryPoint != "" {
		form.Set("entry_point", c.EntryPoint)
	}
	return h.client.updateJudging(ctx, h.name, t.ID, form)
}

// stored truncates what is longer than the server stores. The server's web interface looks for this note.
func (s *Service) stored(b []byte) []byte {
	if limit := int(s.config().OutputStorage); limit >= 0 && len(b) > limit {
		return fmt.Appendf(slices.Clip(b[:limit]), "\n[output storage truncated after %d B]\n", limit)
	}
	return b
}

// checkVersions runs the server's scripts, if any, that print the versions of a language's compiler and runner.
func (h *host) checkVersions(ctx context.Context, t task) error {
	commands, err := h.client.versionCommands(ctx, t.ID)
	if err != nil {
		return err
	}
	form := url.Values{"hostname": {h.name}}
	for member, script := range map[string]string{"compiler": commands.Compiler, "runner": commands.Runner} {
		if script == "" {
			continue
		}
		said, err := h.version(ctx, t, member, script)
		if err != nil {
			return err
		}
		form.Set(member, encoded([]byte(said)))
	}
	if len(form) == 1 {
		return nil
	}
	err = h.client.checkVersions(ctx, t.ID, form)
	if isRejected(err) {
		h.log.Error("the server rejects the language versions of this host and disables it", "error", err)
		return errTakenBack
	}
	return err
}

// version runs a script that prints a version.
func (h *host) version(ctx context.Context, t task, member, script string) (string, error) {
	const name = "version_check"
	path := filepath.Join(h.scratch, fmt.Sprintf("version-%s-%s", t.ID, member))
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		return "", err
	}
	defer os.Remove(path)
	c := t.compile
	ended, err := h.engine.RunScript(ctx, languages.Script{Command: []string{"./" + name},
		Files:  []sandbox.File{{Name: name, Path: path, Exec: true}},
		Limits: scriptLimits(c.TimeLimit, c.Memory, c.FileSize)}, func(*os.Root) error { return nil })
	if err != nil {
		return "", fmt.Errorf("run the version command of the %s: %w", member, err)
	}
	said := strings.TrimSpace(string(ended.Output))
	if ended.Failure != "" {
		said = fmt.Sprintf("Getting the version of the %s failed: %s\n%s", member, ended.Failure, said)
	}
	return said, nil
}
