package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/shlex"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"judged/internal/testkit"
)

// TestCommandsInDocuments parses every command of judged that the documents, the alerts, the source and the examples of the
// help name: the command exists, it has the flags, and a line of a shell block or an example has as many arguments as it
// takes.
func TestCommandsInDocuments(t *testing.T) {
	found := 0
	for _, pattern := range []string{"*.md", "deploy/*.md", "deploy/prometheus/*.yml", "configs/*.toml", "deploy/debian/*"} {
		files, err := filepath.Glob(filepath.Join(testkit.RepoRoot(t), pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			if filepath.Base(file) == "CHANGELOG.md" {
				continue // what a version had
			}
			for _, line := range commandsIn(readFile(t, file)) {
				found++
				if err := parses(line.command, line.whole); err != nil {
					t.Errorf("%s: %q: %v", filepath.Base(file), line.command, err)
				}
			}
		}
	}
	err := filepath.WalkDir(testkit.RepoRoot(t), func(file string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		for _, command := range withFlag.FindAllString(readFile(t, file), -1) {
			found++
			if err := parses(command, false); err != nil {
				t.Errorf("%s: %q: %v", file, command, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", " ")) {
			found++
			if err := parses(strings.TrimSpace(line), true); err != nil {
				t.Errorf("example of %s: %q: %v", c.CommandPath(), line, err)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(quietRoot(nil))
	if found < 250 {
		t.Errorf("%d commands found only", found)
	}
}

func TestParses(t *testing.T) {
	for line, want := range map[string]string{
		"judged slots":                      "",
		"judged verfy sum":                  `unknown command "verfy"`,
		"judged nodes pols":                 `unknown command "nodes pols"`,
		"judged run --tets x ./a":           "unknown flag: --tets",
		"judged cancel":                     "judged cancel takes the ID of a job, not 0 arguments",
		"judged backup -c judged.toml FILE": "",
	} {
		got := ""
		if err := parses(line, true); err != nil {
			got, _, _ = strings.Cut(err.Error(), " (")
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

type mentioned struct {
	command string
	whole   bool // with its arguments
}

var (
	codeSpan = regexp.MustCompile("`((?:bin/)?judged\\s[^`]+)`")
	codeLine = regexp.MustCompile(`(?m)^(?:    +|\$ )?(?:.*(?:[;=(]|&&) ?)?((?:bin/)?judged [a-z].*)$`)
	withFlag = regexp.MustCompile(`\bjudged (?:[a-z]+ )+--?[a-z][a-z-]*`)
	comment  = regexp.MustCompile(`\s+#.*|\s*(?:\||&&|;|>|\)).*`)
	// $(date) in a command
	substitution = regexp.MustCompile(`\$\([^)]*\)`)
)

// commandsIn returns the commands in code spans of a document, and in the lines of its code blocks.
func commandsIn(text string) []mentioned {
	var all []mentioned
	var prose strings.Builder
	block := false
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		fence := strings.HasPrefix(line, "```")
		if fence {
			block = !block
		}
		if !block && !fence && !strings.HasPrefix(line, "    ") {
			prose.WriteString(line)
			continue
		}
		prose.WriteString("\n\n")
		if m := codeLine.FindStringSubmatch(line); m != nil {
			all = append(all, mentioned{comment.ReplaceAllString(substitution.ReplaceAllString(m[1], "x"), ""), true})
		}
	}
	for _, m := range codeSpan.FindAllStringSubmatch(prose.String(), -1) {
		all = append(all, mentioned{strings.Join(strings.Fields(m[1]), " "), false})
	}
	return all
}

// parses reports whether the command line is one of judged.
func parses(line string, whole bool) error {
	args, err := shlex.Split(substitution.ReplaceAllString(line, "x"))
	if err != nil {
		return err
	}
	args = args[1:]
	cmd, rest, err := quietRoot(args).Find(args)
	if err != nil {
		return err
	}
	if cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && !cmd.Runnable() {
		return fmt.Errorf("unknown command %q", rest[0])
	}
	err = cmd.ParseFlags(rest)
	if errors.Is(err, pflag.ErrHelp) || !whole && err != nil && strings.HasPrefix(err.Error(), "flag needs an argument") {
		return nil
	}
	if err != nil || !whole {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

func quietRoot(args []string) *cobra.Command {
	return (&app{in: strings.NewReader(""), out: new(bytes.Buffer), err: new(bytes.Buffer)}).rootCommand(args)
}

// shellBlocks returns the commands of a document that are to be run, block by block.
func shellBlocks(t *testing.T, name string) []string {
	t.Helper()
	var blocks []string
	manual := readFile(t, filepath.Join(testkit.RepoRoot(t), "deploy", name))
	for _, b := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(manual, -1) {
		blocks = append(blocks, b[1])
	}
	return blocks
}
