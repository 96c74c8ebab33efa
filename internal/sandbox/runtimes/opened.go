package runtimes

import (
	"bytes"
	"io"
	"os"
	"slices"
)

// opened lists folders with files that a C library or another library opens at run time: the locale that LANG
// names, conversions of character sets (iconv), and time zones. No header names them. A program that loads
// libraries gets all of them. For a static program, its text shows which ones its library can open. If it
// contains none of these texts, as with most programs without a C library, the run needs no tree.
var opened = [...]struct {
	text    string
	folders []string // patterns
}{
	{"/usr/lib/locale", locales[:]},
	{"/gconv", []string{"/usr/lib/*/gconv", "/usr/lib/gconv", "/usr/lib64/gconv"}},
	{"/usr/share/zoneinfo", []string{"/usr/share/zoneinfo"}},
}

// conversions is the name of the folders of conversions. Their 250 files need the C library, and some need each other.
// Reading that in each header would take longer than everything else.
const (
	conversions = "gconv"
	cLibrary    = "libc.so.6"
)

// leapSeconds has all time zones a second time, with leap seconds. Python does not list them, and Debian 13 does not
// install them by default.
const leapSeconds = "/usr/share/zoneinfo/right"

// locales are the folders of the locale that Lang names.
var locales = [...]string{"/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8"}

// Lang returns a value of LANG whose locale exists on this host.
func Lang() string {
	for _, path := range locales {
		if _, err := os.Stat(path); err == nil {
			return "C.UTF-8"
		}
	}
	return "C"
}

// maxScanned is how much of a program is searched.
const maxScanned = 256 << 20

// readOpened returns the texts of opened that a file contains.
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
