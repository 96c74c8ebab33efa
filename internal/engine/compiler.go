package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/engine/languages"
	"judged/internal/sandbox"
)

// LanguageOptions configure the compilers and the cache of compiled programs.
type LanguageOptions struct {
	Catalogue  languages.Catalogue
	Folder     string // where compiled programs are kept; "" keeps them until Close
	CacheBytes units.Bytes
}

// What compilers may write to files. The limits of each language bound how much of it they can use: it is their memory.
const (
	compilerBoxBytes  = 4 << 30
	compilerBoxInodes = 100_000
)

// Compiler compiles sources on all housekeeping CPUs. It is made when it is first asked for, and closed with the
// engine. For any sandbox.root, compilers see the host's files.
func (e *Engine) Compiler() (*languages.Compiler, error) {
	e.compilerMu.Lock()
	defer e.compilerMu.Unlock()
	if e.compiler == nil {
		if err := e.openCompiler(); err != nil {
			return nil, fmt.Errorf("set up compiler sandbox: %w", err)
		}
	}
	return e.compiler, nil
}

func (e *Engine) openCompiler() (err error) {
	o := e.options.Languages
	if o.Folder == "" && e.compiledFolder == "" {
		if e.compiledFolder, err = os.MkdirTemp("", "judged-compiled-"); err != nil {
			return err
		}
	}
	o.Folder = cmp.Or(o.Folder, e.compiledFolder)
	if e.compilerLauncher == nil {
		prepared, err := languages.PreparedFolder(o.Folder)
		if err != nil {
			return err
		}
		e.compilerLauncher, err = e.openLauncher(sandbox.Options{Root: sandbox.RootHost, BoxBytes: compilerBoxBytes,
			BoxInodes: compilerBoxInodes, Prepared: prepared, Cold: true})
		if err != nil {
			return err
		}
	}
	cpus := housekeeping(e.topology, e.slots)
	resources, err := e.UnplannedSlot(cpus, e.memoryNodes(cpus))
	if err != nil {
		return err
	}
	if resources.Network, err = sandbox.NewNetwork(); err != nil {
		return err
	}
	e.compilerNetwork = resources.Network
	e.compiler, err = languages.New(e.compilerLauncher, resources, languages.Options{Catalogue: o.Catalogue,
		Root: e.options.Root, MaxProgram: e.options.BoxBytes, Folder: o.Folder, Temporary: e.compiledFolder != "",
		CacheBytes: o.CacheBytes})
	return err
}

// memoryNodes are the nodes whose memory is near CPUs.
func (e *Engine) memoryNodes(cpus cpuset.Set) cpuset.Set {
	var nodes cpuset.Set
	for _, id := range cpus {
		nodes = nodes.Union(cpuset.New(e.topology.MemoryNode(e.nodeOf(id, 0))))
	}
	return nodes
}

func (e *Engine) closeCompiler() error {
	var err error
	if e.compiler != nil {
		err = e.compiler.Close()
	}
	if e.compilerNetwork != nil {
		e.compilerNetwork.Close()
	}
	if e.compilerLauncher != nil {
		e.compilerLauncher.Close()
	}
	if e.compiledFolder != "" {
		err = errors.Join(err, os.RemoveAll(e.compiledFolder))
	}
	return err
}

// CheckLanguage returns why jobs in a language cannot be judged here, or nil. The
// pool is that of this host.
func (e *Engine) CheckLanguage(_ context.Context, _, id string) error {
	_, err := e.options.Languages.Catalogue.Find(id, string(e.options.Root))
	return err
}

// CompileOptions returns the options that jobs in a language may add. The pool is that of this host.
func (e *Engine) CompileOptions(_ context.Context, _, id string) (options []string, known bool, err error) {
	return e.options.Languages.Catalogue[id].CompileOptions, true, nil
}

// ListLanguages returns the status of each language.
func (e *Engine) ListLanguages(ctx context.Context) ([]api.LanguageStatus, error) {
	c, err := e.Compiler()
	if err != nil {
		return nil, err
	}
	list, err := c.List(ctx)
	if err == nil && e.options.MeasureStarts {
		e.addStarts(list)
	}
	return list, err
}

// RunScript runs a script where compilers run. See languages.Compiler.RunScript.
func (e *Engine) RunScript(ctx context.Context, s languages.Script, take func(*os.Root) error) (languages.Ended, error) {
	c, err := e.Compiler()
	if err != nil {
		return languages.Ended{}, err
	}
	return c.RunScript(ctx, s, take)
}
