package languages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
)

// Script is a program that makes files of others, such as a compile script of a contest platform. It runs where
// compilers do.
type Script struct {
	Command []string // executed in the working directory
	Env     []string // NAME=VALUE
	// Files are in the working directory. Other than those of a run they are ordinary files, which the script may change.
	Files []sandbox.File
	// Folder, if not "", is the name of a folder next to the working directory with the files of From. See FolderOf.
	Folder string
	From   *os.File
	Limits sandbox.Limits
}

// FolderOf is the path of Script.Folder, as the script sees it.
func FolderOf(name string) string { return initproc.Box + "/" + name }

// Ended is how a script has ended.
type Ended struct {
	sandbox.Result
	Failure   string // why it did not succeed; "" if it exited with status 0
	Transient bool   // it may end differently another time
	Output    []byte // first bytes of its stdout and stderr
}

// asOrdinaryFiles makes copies of the linked files and executes the command with one stream for its messages.
const asOrdinaryFiles = `for f in * .[!.]*; do [ -L "$f" ] || continue
cat -- "$f" > .copy && { [ ! -x "$f" ] || chmod +x .copy; } && mv -f -- .copy "$f" || exit 125
done
exec "$@" 2>&1`

// maxScriptOutput is how much of a script's messages is kept, in bytes.
const maxScriptOutput = 64 << 10

// RunScript runs a script and passes what it left in its working directory to take, unless it failed. The links that
// take may find there lead anywhere; the files are gone when it returns.
func (c *Compiler) RunScript(ctx context.Context, s Script, take func(*os.Root) error) (Ended, error) {
	c.running.Add(1)
	defer c.running.Done()
	select {
	case c.gate <- struct{}{}:
	case <-ctx.Done():
		return Ended{}, context.Cause(ctx)
	}
	defer func() { <-c.gate }()
	box, err := c.launcher.Prepare(c.slot)
	if err != nil {
		return Ended{}, err
	}
	e, err := runScript(ctx, box, s, take)
	return e, errors.Join(err, box.Close())
}

func runScript(ctx context.Context, box *sandbox.Sandbox, s Script, take func(*os.Root) error) (Ended, error) {
	result, err := run(ctx, box, sandbox.Spec{
		Args: slices.Concat([]string{"/bin/sh", "-c", asOrdinaryFiles, "sh"}, s.Command), Env: s.Env, Files: s.Files,
		Folder: s.Folder, FolderFrom: s.From, Limits: s.Limits, Explained: sandbox.WaitingExplains,
	})
	if err != nil {
		return Ended{}, err
	}
	e := Ended{Result: result}
	if result.ExecError != 0 {
		return Ended{}, fmt.Errorf("start /bin/sh: %w; reinstall it", result.ExecError)
	}
	stdout, err := box.Stdout().Reader()
	if err != nil {
		return Ended{}, err
	}
	if e.Output, err = io.ReadAll(io.LimitReader(stdout, maxScriptOutput)); err != nil {
		return Ended{}, err
	}
	if e.Failure, e.Transient = failure(result, s.Limits); e.Failure != "" {
		return e, nil
	}
	dir, err := box.OpenFolder(initproc.Work)
	if err != nil || dir == nil {
		return e, err
	}
	defer dir.Close()
	root, err := rootOf(dir)
	if err != nil {
		return Ended{}, err
	}
	defer root.Close()
	return e, take(root)
}
