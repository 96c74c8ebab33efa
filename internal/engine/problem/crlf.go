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
)

// convertLines converts CRLF in the files of tests to LF. Packages made on Windows have CRLF, which strict validators
// and checkers reject. The files are copies.
func (p *Package) convertLines(ctx context.Context) error {
	n := 0
	for _, t := range p.Tests {
		for _, name := range []string{t.Input, t.Answer} {
			converted, err := convertFile(ctx, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue // a recipe will generate it
			}
			if err != nil {
				return fmt.Errorf("convert line endings of test %q: %w", t.Name, err)
			}
			if converted {
				n++
			}
		}
	}
	if n > 0 {
		p.find("%d files of tests have CRLF line endings; they are judged with LF", n)
	}
	return nil
}

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
