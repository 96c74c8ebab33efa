package problem

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"judged/internal/base/text"
)

// convertLines converts CRLF in the files of tests to LF. Packages made on Windows have CRLF, which strict validators
// and checkers reject. The files are copies.
func (p *Package) convertLines(ctx context.Context) error {
	n := 0
	all := slices.Clone(p.Tests)
	for _, v := range p.Validators {
		all = slices.Concat(all, v.Valid, v.Invalid)
	}
	for _, c := range p.CheckerTests {
		all = append(all, c.Test, Test{Name: c.Name, Input: c.Output})
	}
	for i, t := range all {
		if i >= len(p.Tests) && n == 0 {
			break // CRLF in tests of a program of the jury alone is what they are for
		}
		for _, name := range []string{t.Input, t.Answer} {
			converted, err := convertFile(ctx, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue // a recipe will generate it, or there is no answer
			}
			if err != nil {
				return fmt.Errorf("convert line endings of test %q: %w", t.Name, folderInstead(name, err))
			}
			if converted {
				n++
			}
		}
	}
	if n > 0 {
		p.find("%s of tests with CRLF line endings; judged with LF", text.Count(n, "file"))
	}
	return nil
}

// findForeignText adds findings for tests with CRLF, by their first line, in formats without a rule for it, and with a byte
// order mark. Programs get both, and some fail.
func (p *Package) findForeignText() error {
	hasRule := p.Format == Polygon || p.Format == DMOJ
	crlf, marked := 0, 0
	for _, t := range p.Tests {
		for _, name := range []string{t.Input, t.Answer} {
			if name == "" {
				continue
			}
			head, err := readHead(name, maxFirstLine)
			if errors.Is(err, fs.ErrNotExist) {
				continue // a recipe will generate it
			}
			if err != nil {
				return fmt.Errorf("read test %q: %w", t.Name, folderInstead(name, err))
			}
			line, _, found := bytes.Cut(head, []byte("\n"))
			if !hasRule && found && bytes.HasSuffix(line, []byte("\r")) {
				crlf++
			}
			if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
				marked++
			}
		}
	}
	if crlf > 0 {
		p.find("%s of tests with CRLF line endings; programs get them unchanged", text.Count(crlf, "file"))
	}
	if marked > 0 {
		p.find("%s of tests with a byte order mark (BOM); programs get it unchanged", text.Count(marked, "file"))
	}
	return nil
}

// folderInstead replaces the error of reading a folder, which would name a copy.
func folderInstead(name string, err error) error {
	if info, statErr := os.Stat(name); statErr == nil && info.IsDir() {
		return fmt.Errorf("%q is a folder; replace it with the file", path.Base(name))
	}
	return err
}

// maxFirstLine is how much of a test is searched for the end of its first line.
const maxFirstLine = 4 << 10

// convertFile replaces each CRLF in a file with LF, and reports whether there were any.
func convertFile(ctx context.Context, name string) (found bool, err error) {
	src, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer src.Close()
	lines := bufio.NewReader(untilDone{ctx, src})
	err = eachLine(lines, func(line []byte) error {
		if found = bytes.HasSuffix(line, []byte("\r\n")); found {
			return io.EOF
		}
		return nil
	})
	if err != nil || !found {
		return false, err
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	lines.Reset(untilDone{ctx, src})
	converted := name + ".lf"
	dst, err := os.OpenFile(converted, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	out := bufio.NewWriter(dst)
	err = eachLine(lines, func(line []byte) error {
		if text, ok := bytes.CutSuffix(line, []byte("\r\n")); ok {
			line = append(text, '\n')
		}
		_, err := out.Write(line)
		return err
	})
	if err = errors.Join(err, out.Flush(), dst.Close()); err == nil {
		err = os.Rename(converted, name)
	}
	return true, err
}

// eachLine calls f for each line, or for parts of a long line, until f returns an error. Parts never end within a CRLF.
// The error io.EOF ends the loop normally.
func eachLine(lines *bufio.Reader, f func(line []byte) error) error {
	for {
		line, end := lines.ReadSlice('\n')
		if errors.Is(end, bufio.ErrBufferFull) {
			end = nil
			if line[len(line)-1] == '\r' {
				line, end = line[:len(line)-1], lines.UnreadByte()
			}
		}
		if err := f(line); err != nil || end != nil {
			if err = errors.Join(err, end); errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
