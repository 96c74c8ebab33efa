package languages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// class is the part of a class file that determines where a program starts. The format is described in chapter 4 of The
// Java Virtual Machine Specification.
type class struct {
	name   string // internal, such as contest/Main$Inner
	source string // name of the source file, "" if the compiler omitted it
	major  uint16 // version of the format
	main   entryPoint
	line   int // line of the first instruction of main; math.MaxInt if the compiler omitted it
}

// entryPoint is how suitable a class is for starting a program.
type entryPoint int

const (
	noMain entryPoint = iota
	// instanceMain is a main method according to JEP 512: not static, or without arguments.
	instanceMain
	staticMain
)

// Flags of classes and methods, and the versions and kinds of constants that are used.
const (
	accPublic, accPrivate, accStatic = 0x0001, 0x0002, 0x0008

	java25 = 69 // the first version whose launcher supports JEP 512

	constUTF8, constClass = 1, 7
)

var errClass = errors.New("malformed class file")

// constantSize is the number of bytes after the tag of a constant, except for UTF-8 texts.
var constantSize = map[byte]int{3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4,
	18: 4, 19: 2, 20: 2}

// parseClass parses a class file.
func parseClass(data []byte) (c class, err error) {
	r := &classReader{data: data}
	if r.u4() != 0xCAFEBABE {
		return c, fmt.Errorf("%w: no magic number", errClass)
	}
	r.skip(2)
	c.major, c.line = r.u2(), math.MaxInt
	r.constants()
	r.skip(2) // access flags: the launcher starts any class
	c.name = r.text(r.classes[r.u2()])
	r.skip(2)
	r.skip(2 * int(r.u2())) // interfaces
	for range r.u2() {      // fields
		r.skip(6)
		r.attributes(func(string, *classReader) {})
	}
	for range r.u2() {
		c.method(r)
	}
	r.attributes(func(name string, body *classReader) {
		if name == "SourceFile" {
			c.source = r.text(body.u2())
		}
	})
	if r.short || c.name == "" {
		return class{}, fmt.Errorf("%w: it ends early", errClass)
	}
	return c, nil
}

// method parses a method, and records a main method.
func (c *class) method(r *classReader) {
	flags, name, descriptor := r.u2(), r.text(r.u2()), r.text(r.u2())
	line := math.MaxInt
	r.attributes(func(name string, body *classReader) {
		if name == "Code" {
			line = firstLine(r, body)
		}
	})
	kind := noMain
	arguments := descriptor == "([Ljava/lang/String;)V"
	switch {
	case name != "main" || !arguments && descriptor != "()V":
	case arguments && flags&accPublic != 0 && flags&accStatic != 0:
		kind = staticMain
	case c.major >= java25 && flags&accPrivate == 0:
		kind = instanceMain
	}
	if kind > c.main {
		c.main, c.line = kind, line
	}
}

// firstLine returns the smallest line number in the code of a method.
func firstLine(r, code *classReader) int {
	line := math.MaxInt
	code.skip(4)
	code.skip(int(min(code.u4(), math.MaxInt32)))
	code.skip(8 * int(code.u2()))
	code.texts = r.texts
	code.attributes(func(name string, body *classReader) {
		if name != "LineNumberTable" {
			return
		}
		for range body.u2() {
			body.skip(2)
			line = min(line, int(body.u2()))
		}
	})
	return line
}

// classReader reads from the front of data. After the end it returns zeros and sets short.
type classReader struct {
	data    []byte
	short   bool
	texts   map[uint16]string
	classes map[uint16]uint16
}

func (r *classReader) read(n int) []byte {
	if n < 0 || n > len(r.data) {
		r.short, r.data = true, nil
		return make([]byte, 4)
	}
	taken := r.data[:n]
	r.data = r.data[n:]
	return taken
}

func (r *classReader) skip(n int) {
	if n < 0 || n > len(r.data) {
		r.short, r.data = true, nil
		return
	}
	r.data = r.data[n:]
}

func (r *classReader) u2() uint16           { return binary.BigEndian.Uint16(r.read(2)) }
func (r *classReader) u4() uint32           { return binary.BigEndian.Uint32(r.read(4)) }
func (r *classReader) text(i uint16) string { return r.texts[i] }

// constants parses the constant pool: its texts, and which texts are names of classes.
func (r *classReader) constants() {
	r.texts, r.classes = map[uint16]string{}, map[uint16]uint16{}
	n := r.u2()
	for i := uint16(1); i < n && !r.short; i++ {
		tag := r.read(1)[0]
		switch size, known := constantSize[tag]; {
		case tag == constUTF8:
			r.texts[i] = string(r.read(int(r.u2())))
		case tag == constClass:
			r.classes[i] = r.u2()
		case !known:
			r.short = true
		default:
			r.skip(size)
			if size == 8 {
				i++ // occupies two entries
			}
		}
	}
}

// attributes calls f for each attribute with its name.
func (r *classReader) attributes(f func(name string, body *classReader)) {
	for range r.u2() {
		name := r.text(r.u2())
		n := r.u4()
		if r.short || uint64(n) > uint64(len(r.data)) {
			r.short, r.data = true, nil
			return
		}
		f(name, &classReader{data: r.read(int(n))})
	}
}
