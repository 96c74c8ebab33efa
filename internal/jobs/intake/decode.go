package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"judged/internal/base/text"
)

// maxMembers is the maximum number of members of an array or object, equal to the maximum number of tests that can be
// configured. Without a limit, "{},{},…" takes ten times its size in memory.
const maxMembers = 100_000

// errEnough stops reading a body whose rest cannot matter.
var errEnough = errors.New("enough errors")

// Decode reads a job, or another request body. Unlike encoding/json alone, it refuses unknown keys, keys in another
// case, duplicate keys, null, invalid UTF-8, unpaired surrogates and trailing data.
//
// A json.RawMessage keeps any JSON value for a later call, which also checks its text.
//
// Values that do not fit their member are returned as unfit, with the body without them. The error is the read error of
// body, or Errors if the rest of the body no longer matters. The rest is then not read: skipping 62 MiB in an unknown
// member took 9 s of CPU time.
func Decode[T any](body io.Reader) (v T, unfit Errors, err error) {
	var none T
	r := newReader(body)
	err = r.document(reflect.TypeFor[T]())
	switch {
	case r.body.err != nil:
		return none, nil, r.body.err
	case err != nil && !errors.Is(err, errEnough):
		r.errs.add("", "%v", err)
	case err == nil && r.isRaw:
	case err == nil && !utf8.Valid(r.body.data.Bytes()):
		r.errs.add("", "not valid UTF-8; send bytes that are not text as base64, blobs or parts")
		err = errEnough
	case err == nil:
		if at := LoneSurrogate(r.body.data.Bytes()); at >= 0 {
			r.errs.add("", "half of a surrogate pair at %s, which is no character; send text that was not cut in the "+
				"middle of one, and bytes that are not text as base64, blobs or parts", r.place(int64(at)+1))
			err = errEnough
		}
	}
	if err != nil {
		return none, nil, r.errs.err()
	}
	// Unmarshal skips values that do not fit, but ends at an invalid time; those are already recorded.
	err = json.Unmarshal(r.edited(), &v)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil, len(r.errs) > 0 && errors.As(err, &wrongType):
		return v, r.errs, nil
	case len(r.errs) > 0:
		return none, nil, r.errs.err()
	}
	return none, nil, Errors{{Detail: err.Error()}}
}

// LoneSurrogate returns the position of an escaped unpaired surrogate in valid JSON, which encoding/json replaces by
// U+FFFD, or a negative number if it has none. Backslashes occur only in strings.
func LoneSurrogate(text []byte) int {
	for i := 0; ; {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return -1
		}
		i += next
		switch first, second := escaped(text[i:]), escaped(text[min(i+escape, len(text)):]); {
		case !utf16.IsSurrogate(first):
			i += 2
		case utf16.DecodeRune(first, second) == utf8.RuneError:
			return i
		default:
			i += 2 * escape
		}
	}
}

// escape is the length of an escaped UTF-16 unit.
const escape = len(`\u0000`)

// escaped returns the UTF-16 unit of the escape at the start of text, or 0.
func escaped(text []byte) rune {
	if len(text) < escape || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(text[2:escape]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(unit)
}

// reader walks the tokens of a document together with its Go type. Its recursion follows the type, so hostile nesting
// ends at the first mismatch.
type reader struct {
	body  *kept
	dec   *json.Decoder
	edits []edit
	errs  Errors
	isRaw bool // parts of the document are left to a later call
}

func newReader(body io.Reader) *reader {
	k := &kept{Reader: body}
	r := &reader{body: k, dec: json.NewDecoder(k)}
	r.dec.UseNumber()
	return r
}

// kept keeps what was read, and the read error, which the decoder would not distinguish from syntax errors. It fills
// the buffers of the decoder, which grow by a factor: after each read, the decoder scans white space from its start, and
// a body of 70 MiB of it in small pieces took 85 s of CPU time.
type kept struct {
	io.Reader
	data bytes.Buffer
	err  error
}

// Read implements io.Reader.
func (k *kept) Read(b []byte) (int, error) {
	if k.err != nil {
		return 0, k.err // the decoder's More ignores it
	}
	n, err := k.Reader.Read(b)
	for err == nil && n < len(b) {
		var more int
		more, err = k.Reader.Read(b[n:])
		n += more
	}
	k.data.Write(b[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		k.err = err
	}
	return n, err
}

// document returns errEnough if the rest does not matter, and another error if the text is not JSON. Errors in valid
// JSON are collected in errs.
func (r *reader) document(t reflect.Type) error {
	if err := r.value(t, ""); err != nil {
		return r.syntax(err)
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("text behind the end of the document at %s; send one", r.place(r.dec.InputOffset()))
	}
	return nil
}

func (r *reader) value(t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		r.isRaw = true
		var raw json.RawMessage
		return r.dec.Decode(&raw)
	}
	token, err := r.dec.Token()
	if err != nil {
		return err
	}
	switch {
	case token == json.Delim('{') && t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]():
		return r.members(path, func(key string) (reflect.Type, string) { return field(t, key), join(path, key) })
	case token == json.Delim('{') && t.Kind() == reflect.Map:
		return r.members(path, func(key string) (reflect.Type, string) {
			return t.Elem(), path + "[" + text.Quoted(key) +
				"]"
		})
	case token == json.Delim('[') && t.Kind() == reflect.Slice:
		return r.elements(t.Elem(), path)
	}
	if n, ok := token.(json.Number); ok && (t.Kind() == reflect.Int || t.Kind() == reflect.Int64) {
		token = r.whole(n)
	}
	problem := mismatch(token, t)
	if problem == "" && isZero(token) && limit().MatchString(path) {
		problem = "0 allows nothing; send a limit above 0, or leave it out for the default"
	}
	if problem == "" && token == "" && named().MatchString(path) {
		problem = "empty; send what it names, or leave it out"
	}
	if problem != "" {
		r.errs.add(path, "%s", problem)
	}
	if _, ok := token.(json.Delim); ok {
		return errEnough // the rest may be long
	}
	return nil
}

// members reads an object after its opening brace. find returns the type and the name of a key's value; a nil type
// means that the key is unknown.
func (r *reader) members(path string, find func(key string) (reflect.Type, string)) error {
	seen := map[string]bool{}
	for n := 0; r.dec.More(); n++ {
		if err := r.room(path, n); err != nil {
			return err
		}
		token, err := r.dec.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("a key is not text at %s", r.place(r.dec.InputOffset()))
		}
		t, name := find(key)
		switch {
		case t == nil:
			r.errs.add(name, "unknown key; see /openapi.json for those there are")
			return errEnough
		case seen[key]:
			r.errs.add(name, "given twice; keep one")
			return errEnough
		}
		seen[key] = true
		if err := r.value(t, name); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}

func (r *reader) elements(t reflect.Type, path string) error {
	for i := 0; r.dec.More(); i++ {
		if err := r.room(path, i); err != nil {
			return err
		}
		if err := r.value(t, path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}

// room returns an error if an object or array already has the maximum number of members.
func (r *reader) room(path string, n int) error {
	if n == maxMembers {
		r.errs.add(path, "more than %d members; send fewer", maxMembers)
		return errEnough
	}
	if len(r.errs) > maxErrors {
		return errEnough
	}
	return nil
}

// field returns the type of the member of t with exactly this JSON name, or nil. Callers cannot set members with the
// tag from.
func field(t reflect.Type, name string) reflect.Type {
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if tag == name && tag != "-" && tag != "" && t.Field(i).Tag.Get("from") == "" {
			return t.Field(i).Type
		}
	}
	return nil
}

// join appends a key to a path. Known keys are plain words; unknown keys may contain anything.
func join(path, key string) string {
	if shown := text.Quoted(key); shown != `"`+key+`"` {
		key = shown
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// mismatch returns the reason why a token cannot be a value of type t, or "".
func mismatch(token json.Token, t reflect.Type) string {
	if token == nil {
		return "null is no value here; leave the key out"
	}
	if t == reflect.TypeFor[time.Time]() {
		text, ok := token.(string)
		if _, err := time.Parse(time.RFC3339, text); ok && err == nil {
			return ""
		}
		return fmt.Sprintf("%s is not a time; send one such as 2026-11-20T09:00:00Z", describe(token))
	}
	switch t.Kind() {
	case reflect.Bool:
		if _, ok := token.(bool); ok {
			return ""
		}
	case reflect.String:
		if text, ok := token.(string); ok {
			if text == "" && t != reflect.TypeFor[string]() {
				return "empty; send one of the words for it, or leave the key out"
			}
			return ""
		}
	case reflect.Float64:
		if n, ok := token.(json.Number); ok {
			if _, err := n.Float64(); err == nil {
				return ""
			}
			return short(n.String()) + " is too large"
		}
	case reflect.Int, reflect.Int64:
		if n, ok := token.(json.Number); ok {
			if _, err := strconv.ParseInt(n.String(), 10, t.Bits()); err == nil {
				return ""
			}
			return fmt.Sprintf("%s is not a whole number up to %d", short(n.String()),
				uint64(math.MaxUint64)>>(65-t.Bits()))
		}
	}
	return fmt.Sprintf("%s found; send %s", describe(token), wanted(t))
}

// limit matches the path of a limit of a job or of a test, and of a factor.
var limit = text.Pattern(`^((tests\[[0-9]+\]\.)?limits\.|factors\.|keep\.bytes$)`)

// named matches the path of a member that names something. An empty name would select the default, or everything: it is
// rather a variable that has no value in the program of the caller.
var named = text.Pattern(`(^|\.)(blob|part|language|problem|problem_version|pool|input_file|output_file|id|idempotency_key)$`)

// isZero reports whether a limit or a factor is 0, which Complete could not distinguish from an absent one.
func isZero(token json.Token) bool {
	n, ok := token.(json.Number)
	if !ok {
		return false
	}
	value, err := n.Float64()
	return err == nil && value == 0
}

func short(s string) string {
	if len(s) > 32 {
		return s[:32] + "…"
	}
	return s
}

func describe(token json.Token) string {
	switch token := token.(type) {
	case string:
		return "text"
	case bool:
		return strconv.FormatBool(token)
	case json.Delim:
		if token == '[' {
			return "an array"
		}
		return "an object"
	}
	return "a number"
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	case reflect.Bool:
		return "true or false"
	}
	return "an object"
}

// syntax adds the position to errors of the decoder.
func (r *reader) syntax(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON at %s: %w", r.place(syntax.Offset), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: it ends before the document is complete")
	}
	return err
}

func (r *reader) place(offset int64) string {
	data := r.body.data.Bytes()
	before := data[:min(max(offset, 0), int64(len(data)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("line %d, column %d", line, max(column, 1))
}
