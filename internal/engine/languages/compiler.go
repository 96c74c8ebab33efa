package languages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox"
)

// Source has the sources of one program. The first one has the entry point. If it has no name, it gets one. Other
// files, such as headers, need not be sources of the language.
type Source struct {
	Language string
	Options  []string // of CompileOptions of the language
	Files    []sandbox.File
}

// Result is the result of a compilation. Close it when the files are no longer used.
type Result struct {
	// Failure is the reason why there is no program, for the author of the sources; "" means that there is one.
	Failure string
	Output  string         // the compiler's output, at most maxMessages
	Size    units.Bytes    // full size of it
	Args    []string       // command that runs the program
	Files   []sandbox.File // for its working directory
	Cached  bool           // from an earlier compilation
	Key     string         // digest of the sources, the compiler with its version, and its flags

	unpin func()
}

// Close allows the cache to remove the files.
func (r Result) Close() {
	if r.unpin != nil {
		r.unpin()
	}
}

// Options configure a Compiler.
type Options struct {
	Catalogue Catalogue
	Root      sandbox.Root // for running results
	// MaxProgram is the maximum size of a program, the value of sandbox.work_size.
	MaxProgram units.Bytes
	Folder     string      // of the cache
	Temporary  bool        // the folder is removed at the end, so a single compilation does not wait for a prepare command
	CacheBytes units.Bytes // maximum size of the cache
}

// Compiler compiles on housekeeping CPUs. It is safe for concurrent use.
type Compiler struct {
	options  Options
	launcher *sandbox.Launcher // with the host's files
	slot     sandbox.Resources
	cache    cache
	flights  singleflight.Group
	running  sync.WaitGroup
	gate     chan struct{} // limits the number of concurrent compilations to that of the CPUs

	mu       sync.Mutex         // guards versions
	versions map[string]version // by language

	preparing sync.Mutex      // held while a prepare command runs; guards compiled
	compiled  map[string]bool // languages that were compiled without their prepare command
}

// version is the version that a compiler printed.
type version struct{ identity, text string }

// New returns a compiler on a slot. The launcher must show the host's files; the caller owns it and the slot's network.
// Close the compiler before the launcher.
func New(l *sandbox.Launcher, slot sandbox.Resources, o Options) (*Compiler, error) {
	kept, err := openCache(o.Folder, o.CacheBytes)
	if err != nil {
		return nil, err
	}
	slot.Copies = l.Copies()
	return &Compiler{options: o, launcher: l, slot: slot, cache: kept, gate: make(chan struct{}, len(slot.CPUs)),
		versions: map[string]version{}, compiled: map[string]bool{}}, nil
}

// Close waits for running compilations.
func (c *Compiler) Close() error {
	c.running.Wait()
	return c.slot.Group.Trim()
}

// Find returns a language that this host can judge.
func (c *Compiler) Find(id string) (Language, error) {
	return c.options.Catalogue.Find(id, string(c.options.Root))
}

// Find returns a language that this host can judge under a root. It returns an *api.LanguageUnavailableError if there
// is no such language.
func (c Catalogue) Find(id, root string) (Language, error) {
	l, known := c[id]
	if !known {
		return l, &api.LanguageUnavailableError{Language: id, Reason: "unknown; judged languages lists those that are known"}
	}
	if reason := l.Missing(root); reason != "" {
		return l, &api.LanguageUnavailableError{Language: id, Reason: reason}
	}
	return l, nil
}

// Compile compiles sources, or returns the cached result of the same sources. Concurrent calls with the same sources
// share one compilation; a caller whose ctx ends does not cancel it for the others.
func (c *Compiler) Compile(ctx context.Context, s Source) (Result, error) {
	l, err := c.Find(s.Language)
	if err != nil {
		return Result{}, err
	}
	if len(s.Files) == 0 {
		return Result{}, errors.New("compile: no source; give at least one")
	}
	p, err := l.plan(s.Files, s.Options)
	if twice, ok := errors.AsType[*nameError](err); ok {
		return Result{Failure: twice.Error()}, nil
	}
	if err != nil {
		return Result{}, fmt.Errorf("compile %s: %w", l.Name, err)
	}
	text, err := c.version(ctx, l)
	if err != nil {
		return Result{}, err
	}
	key, err := p.key(text)
	if err != nil {
		return Result{}, fmt.Errorf("compile %s: %w", l.Name, err)
	}
	if r, ok := c.cached(p, key); ok {
		r.Cached = true
		return r, nil
	}
	done := c.flights.DoChan(key, func() (any, error) {
		c.running.Add(1)
		defer c.running.Done()
		return c.compile(context.WithoutCancel(ctx), p, key, text)
	})
	select {
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	case r := <-done:
		if r.Err != nil {
			return Result{}, fmt.Errorf("compile %s: %w", l.Name, r.Err)
		}
		e := r.Val.(entry)
		if e.Failure != "" { // regardless of an older one that is in use
			return Result{Failure: e.Failure, Output: e.Output, Size: e.Size, Key: key}, nil
		}
	}
	r, ok := c.cached(p, key)
	if !ok {
		return Result{}, api.Blame(api.HostFault, fmt.Errorf("compile %s: the result left the cache at once; raise "+
			"languages.cache_size", l.Name))
	}
	return r, nil
}

// cached returns the cached result for sources.
func (c *Compiler) cached(p plan, key string) (Result, bool) {
	e, folder, ok := c.cache.pin(key)
	if !ok {
		return Result{}, false
	}
	r := Result{Failure: e.Failure, Output: e.Output, Size: max(e.Size, units.Bytes(len(e.Output))), Key: key,
		unpin: folder.Release}
	if e.Failure != "" {
		return r, true
	}
	main := "./" + artifactFile
	r.Files = []sandbox.File{{Name: artifactFile, Path: filepath.Join(folder.Path, artifactFile), Exec: true}}
	switch p.language.Artifact {
	case artifactSources:
		main, r.Files = "./"+p.files[0].Name, p.files
	case artifactFolder, artifactTree:
		main, r.Files = "./"+runFile, nil
		for _, name := range e.Files {
			r.Files = append(r.Files, sandbox.File{Name: name, Path: filepath.Join(folder.Path, builtFolder, name),
				Exec: true})
		}
	}
	r.Args = command(p.language.Run, nil, map[string]string{programMark: main})
	return r, true
}

// The files of a compilation in its sandbox.
const (
	outputFolder = "out"
	outputPath   = outputFolder + "/" + artifactFile
)

// maxMessages is how much of a compiler's messages is kept, in bytes.
const maxMessages = 1 << 20

// compile runs the compiler and caches the result, unless it may differ another time.
func (c *Compiler) compile(ctx context.Context, p plan, key, version string) (entry, error) {
	c.gate <- struct{}{}
	defer func() { <-c.gate }()
	prepared, err := c.prepared(ctx, p.language, version)
	if err != nil {
		return entry{}, err
	}
	box, err := c.launcher.Prepare(c.slot)
	if err != nil {
		return entry{}, err
	}
	e, err := c.compileIn(ctx, box, p, prepared, key)
	return e, errors.Join(err, box.Close())
}

func (c *Compiler) compileIn(ctx context.Context, box *sandbox.Sandbox, p plan, prepared, key string) (entry, error) {
	limits := p.language.limits
	result, err := run(ctx, box, sandbox.Spec{Args: p.language.withEnvironment(p.command, prepared), Files: p.files,
		Folder: outputFolder, Limits: limits, Explained: sandbox.WaitingExplains})
	if err != nil {
		return entry{}, err
	}
	if result.ExecError != 0 {
		return entry{}, api.Blame(api.HostFault, fmt.Errorf("start %q: %w; reinstall it", p.command[0],
			result.ExecError))
	}
	if result.IsKilledByHost() {
		return entry{}, api.Blame(api.HostFault, fmt.Errorf("the compiler was %w", sandbox.ErrHostMemory))
	}
	e := entry{}
	if e.Output, e.Size, err = messages(box); err != nil {
		return entry{}, err
	}
	e.Failure, e.transient = failure(result, limits)
	var program *os.File
	switch {
	case e.transient:
		return e, nil
	case e.Failure != "" || p.language.Artifact == artifactSources:
	case p.language.leavesFolder():
		program, e.Files, e.Failure, err = c.built(box, p.language)
	default:
		program, e.Failure, err = c.program(box, p)
	}
	if err != nil {
		return entry{}, err
	}
	defer program.Close() // it may be nil
	if e.Failure != "" {
		e.Time = time.Now()
	}
	return e, c.cache.put(key, e, program)
}

func run(ctx context.Context, box *sandbox.Sandbox, spec sandbox.Spec) (sandbox.Result, error) {
	if err := box.Load(spec); err != nil {
		return sandbox.Result{}, err
	}
	result, err := box.Run(ctx)
	if err == nil && result.Stop == sandbox.StopCancelled {
		err = context.Cause(ctx)
	}
	return result, err
}

// failure returns the reason why the compiler did not produce a program, or "" if it reports success. Limits that
// depend on time or on what other programs use may be met another time.
func failure(r sandbox.Result, l sandbox.Limits) (reason string, transient bool) {
	switch {
	case r.IsKilledByHost():
		return "the program was " + sandbox.ErrHostMemory.Error(), true
	case r.OOMKills > 0 || r.MemoryPeak != nil && *r.MemoryPeak > l.Memory:
		return fmt.Sprintf("the compiler used more than %s of memory", l.Memory), true
	case r.Stop == sandbox.StopCPU:
		return fmt.Sprintf("the compiler used %s of CPU time", l.CPUTime), true
	case r.Stop == sandbox.StopWall:
		return fmt.Sprintf("the compiler did not end within %s", l.WallTime), true
	case r.OutputBytes > l.Output || r.Signal == syscall.SIGXFSZ:
		return fmt.Sprintf("the compiler wrote more than %s", l.Output), true
	case r.Signal != 0:
		return "the compiler was ended by " + linux.SignalName(r.Signal), true
	case r.Code != 0 && r.Refused != nil && *r.Refused > 0:
		return fmt.Sprintf("the compiler reached the limit of %d processes and threads, and exited with status %d",
			l.Processes, r.Code), true
	case r.Code != 0:
		return fmt.Sprintf("%s%d", api.CompilerExited, r.Code), false
	}
	return "", false
}

// program opens the compiler's output, or returns the reason why it is not a program.
func (c *Compiler) program(box *sandbox.Sandbox, p plan) (f *os.File, failure string, err error) {
	if f, err = box.OpenFile(outputPath); err != nil {
		return nil, "", err
	}
	if f == nil {
		return nil, "the compiler did not write a program", nil
	}
	info, err := f.Stat()
	if size := units.Bytes(0); err == nil {
		if size = units.Bytes(info.Size()); size > c.options.MaxProgram {
			failure = fmt.Sprintf("the program has %s; a working directory takes %s", size, c.options.MaxProgram)
		}
	}
	if err == nil && failure == "" && p.language.Run[0] == programMark {
		failure, err = notProgram(f)
	}
	if err != nil || failure != "" {
		f.Close()
		return nil, failure, err
	}
	if p.language.Artifact != artifactJar {
		return f, "", nil
	}
	defer f.Close()
	return withEntry(f, c.options.Folder, p.sources())
}

// notProgram returns the reason why the kernel would not execute the compiler's output, such as a library, or "" if it
// would.
func notProgram(f io.ReaderAt) (string, error) {
	head := make([]byte, len("!<arch>"))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if head = head[:n]; bytes.HasPrefix(head, []byte("\x7fELF")) || bytes.HasPrefix(head, []byte("#!")) {
		return "", nil
	}
	return fmt.Sprintf("the compiler wrote no program but a file that begins with %q; do the sources have an entry point?",
		head), nil
}

// messages returns the first bytes that the compiler wrote to stdout and stderr, and their full size.
func messages(box *sandbox.Sandbox) (text string, size units.Bytes, err error) {
	var all strings.Builder
	for _, o := range []*sandbox.Output{box.Stdout(), box.Stderr()} {
		n, err := o.Size()
		if err != nil {
			return "", 0, err
		}
		size += n
		r, err := o.Reader()
		if err != nil {
			return "", 0, err
		}
		if _, err := io.Copy(&all, io.LimitReader(r, int64(maxMessages-all.Len()))); err != nil {
			return "", 0, err
		}
	}
	text = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(all.String(), "\uFFFD"), "\x00", "\uFFFD"))
	if size > maxMessages {
		return strings.ToValidUTF8(text[:min(len(text), maxMessages)], ""), size, nil
	}
	return text, units.Bytes(len(text)), nil
}

// version queries the version of a compiler, once for each installation of it.
func (c *Compiler) version(ctx context.Context, l Language) (string, error) {
	identity := l.identity()
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.versions[l.ID]; v.identity == identity && v.text != "" {
		return v.text, nil
	}
	box, err := c.launcher.Prepare(c.slot)
	if err != nil {
		return "", err
	}
	text, err := readVersion(ctx, box, l)
	if err := errors.Join(err, box.Close()); err != nil {
		return "", fmt.Errorf("ask for the version of %s: %w", l.Name, err)
	}
	c.versions[l.ID] = version{identity, text}
	return text, nil
}

func readVersion(ctx context.Context, box *sandbox.Sandbox, l Language) (string, error) {
	result, err := run(ctx, box, sandbox.Spec{Args: l.withEnvironment(l.Version, noPrepared), Limits: l.limits,
		Explained: sandbox.WaitingExplains})
	if err != nil {
		return "", err
	}
	said, _, err := messages(box)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(said, "\n")
	if result.ExecError != 0 || result.Signal != 0 || result.Code != 0 || first == "" {
		return "", &api.LanguageUnavailableError{Language: l.ID,
			Reason: fmt.Sprintf("%q does not work in the sandbox: %q; reinstall it",
				strings.Join(l.Version, " "), first)}
	}
	return first, nil
}

// identity returns a string that changes when the compiler is replaced; "" if a program of it is missing. The version may
// come from a shell script, so the programs that the language needs count, too.
func (l Language) identity() string {
	var programs []string
	for _, name := range append([]string{l.Version[0]}, l.Needs...) {
		path, _ := l.lookup(name)
		info, err := os.Stat(path)
		if err != nil {
			return ""
		}
		programs = append(programs, fmt.Sprint(path, info.Size(), info.ModTime().UnixNano()))
	}
	return strings.Join(programs, " ")
}

// List returns the status of all languages, in the order of their IDs.
func (c *Compiler) List(ctx context.Context) ([]api.LanguageStatus, error) {
	list := []api.LanguageStatus{}
	for _, id := range slices.Sorted(maps.Keys(c.options.Catalogue)) {
		l := c.options.Catalogue[id]
		s := api.LanguageStatus{ID: id, Name: l.Name, VariantOf: l.VariantOf, Extensions: l.Extensions,
			CompileOptions: l.CompileOptions}
		_, err := c.Find(id)
		if err == nil {
			s.Version, err = c.version(ctx, l)
		}
		missing := new(api.LanguageUnavailableError)
		if errors.As(err, &missing) {
			s.Reason, err = missing.Reason, nil
		}
		if err != nil {
			return nil, err
		}
		s.Available = s.Reason == ""
		list = append(list, s)
	}
	return list, nil
}
