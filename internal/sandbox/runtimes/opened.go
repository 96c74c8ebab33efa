package runtimes

import (
	"bytes"
	"io"
	"os"
	"slices"
)

// opened are folders of which a C library, or another one, opens files while the program runs: the locale that LANG
// names, conversions of character sets (iconv), and time zones. No header names them. A program that loads libraries
// gets all of them. Of a static program the text shows which ones its library can open: text that is missing, as in
// most programs without a C library, spares the run a tree.
var opened = [...]struct {
	text    string
	folders []string // patterns
}{
	{"/usr/lib/locale", locales[:]},
	{"/gconv", []string{"/usr/lib/*/gconv", "/usr/lib/gconv", "/usr/lib64/gconv"}},
	{"/usr/share/zoneinfo", []string{"/usr/share/zoneinfo"}},
}

// locales are those that Lang names.
var locales = [...]string{"/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8"}

// Lang returns the value of LANG with which every program of this host finds its locale.
func Lang() string {
	for _, path := range locales {
		if _, err := os.Stat(path); err == nil {
			return "C.UTF-8"
		}
	}
	return "C"
}

// maxScanned bounds how much of a program is searched.
const maxScanned = 256 << 20

// readOpened returns which texts of opened a file contains.
func readOpened(f io.ReaderAt) (found []string) {
	const window, overlap = 1 << 20, 64
	b := make([]byte, window+overlap)
	for at := int64(0); at < maxScanned; at += window {
		n, err := f.ReadAt(b, at)
		for _, o := range opened {
			if bytes.Contains(b[:n], []byte(o.text)) && !slices.Contains(found, o.text) {
				found = append(found, o.text)
			}
		}
		if err != nil || len(found) == len(opened) {
			break // at the end of the file
		}
	}
	return found
}
