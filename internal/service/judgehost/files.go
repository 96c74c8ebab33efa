package judgehost

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// file is one entry of get_files, without its content.
type file struct {
	Name string
	Exec bool
}

// maxFiles is the maximum number of files in a response.
const maxFiles = 10_000

// readFiles reads a response of get_files: an array of objects with filename, content in base64 and is_executable. The
// content can have hundreds of megabytes, so it is streamed to the writer that create returns for file number n. done
// is called after each file.
func readFiles(in io.Reader, create func(n int) (io.WriteCloser, error), done func(n int, f file) error) (err error) {
	r := &scanner{bufio.NewReaderSize(in, 64<<10)}
	switch c, err := r.next(); {
	case err != nil:
		return err
	case c != '[': // no answer of DOMjudge, but, for example, a page of a proxy
		return fmt.Errorf("no list of files, but %q", string(rune(c)))
	}
	for n := 0; ; n++ {
		c, err := r.next()
		switch {
		case err != nil:
			return err
		case c == ']':
			return r.expectEOF()
		case n == maxFiles:
			return invalid("more than %d files", maxFiles)
		case n > 0 && c == ',':
			if c, err = r.next(); err != nil {
				return err
			}
		case n > 0:
			return unexpected(c)
		}
		if c != '{' {
			return unexpected(c)
		}
		f, err := r.file(n, create)
		if err == nil {
			err = done(n, f)
		}
		if err != nil {
			return err
		}
	}
}

// scanner reads JSON without holding its strings.
type scanner struct{ *bufio.Reader }

func unexpected(c byte) error { return invalid("unexpected %q in the list of files", string(rune(c))) }

func invalid(format string, args ...any) error { return &contentError{fmt.Errorf(format, args...)} }

// next returns the next byte that is not white space.
func (r *scanner) next() (byte, error) {
	for {
		c, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c, err
		}
	}
}

func (r *scanner) expect(want byte) error {
	c, err := r.next()
	if err == nil && c != want {
		err = unexpected(c)
	}
	return err
}

// expectEOF returns an error if there is trailing data.
func (r *scanner) expectEOF() error {
	switch c, err := r.next(); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil
	case err != nil:
		return err
	default:
		return unexpected(c)
	}
}

// file reads an object after its opening brace.
func (r *scanner) file(n int, create func(int) (io.WriteCloser, error)) (f file, err error) {
	named, filled := false, false
	for first := true; ; first = false {
		c, err := r.next()
		if err == nil && c == '}' && (first || named && filled) {
			if !named || !filled {
				return f, invalid("file without filename or content")
			}
			return f, nil
		}
		if err == nil && !first {
			if c != ',' {
				return f, unexpected(c)
			}
			c, err = r.next()
		}
		if err == nil && c != '"' {
			err = unexpected(c)
		}
		if err != nil {
			return f, err
		}
		key, err := r.short()
		if err == nil {
			err = r.expect(':')
		}
		if err != nil {
			return f, err
		}
		switch key {
		case "filename":
			named = true
			if err = r.expect('"'); err == nil {
				f.Name, err = r.short()
			}
		case "content":
			if filled {
				return f, invalid("file with duplicate content")
			}
			filled = true
			err = r.content(n, create)
		default:
			var value string
			if value, err = r.value(); key == "is_executable" {
				f.Exec = value == "true" || value == "1"
			}
		}
		if err != nil {
			return f, err
		}
	}
}

// maxShort is the maximum length of a name or another short value in bytes.
const maxShort = 4 << 10

// short reads a string after its opening quote.
func (r *scanner) short() (s string, err error) {
	quoted := []byte{'"'}
	for escaped := false; ; {
		c, err := r.ReadByte()
		if err != nil {
			return "", io.ErrUnexpectedEOF
		}
		quoted = append(quoted, c)
		switch {
		case len(quoted) > maxShort:
			return "", invalid("value exceeds %d bytes", maxShort)
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			if err := json.Unmarshal(quoted, &s); err != nil {
				return "", &contentError{err}
			}
			return s, nil
		}
	}
}

// value reads a string, a number or a literal such as true.
func (r *scanner) value() (string, error) {
	c, err := r.next()
	if err != nil {
		return "", err
	}
	if c == '"' {
		return r.short()
	}
	word := []byte{c}
	for {
		c, err := r.ReadByte()
		switch {
		case err != nil:
			return "", io.ErrUnexpectedEOF
		case strings.IndexByte(",}] \n\r\t", c) >= 0:
			return string(word), r.UnreadByte()
		case c == '{' || c == '[' || c == '"' || len(word) > maxShort:
			return "", unexpected(c)
		}
		word = append(word, c)
	}
}

// content decodes a string into a new file.
func (r *scanner) content(n int, create func(int) (io.WriteCloser, error)) error {
	if err := r.expect('"'); err != nil {
		return err
	}
	w, err := create(n)
	if err != nil {
		return err
	}
	from := &stringReader{r: r}
	_, err = io.Copy(w, base64.NewDecoder(base64.StdEncoding, from))
	if errors.As(err, new(base64.CorruptInputError)) || from.ended && errors.Is(err, io.ErrUnexpectedEOF) {
		err = invalid("decode base64 content: %w", err)
	}
	return errors.Join(err, w.Close())
}

// stringReader reads a base64 string up to its closing quote. The only escape sequence that it accepts is \/.
type stringReader struct {
	r     *scanner
	ended bool
}

func (s *stringReader) Read(b []byte) (n int, err error) {
	for n < len(b) && !s.ended {
		c, err := s.r.ReadByte()
		if err == nil && c == '\\' {
			if c, err = s.r.ReadByte(); err == nil && c != '/' {
				return n, invalid("unexpected escape sequence in base64 content")
			}
		} else if err == nil && c == '"' {
			s.ended = true
			break
		}
		if err != nil {
			return n, io.ErrUnexpectedEOF
		}
		b[n] = c
		n++
	}
	if n == 0 && s.ended {
		return 0, io.EOF
	}
	return n, nil
}
