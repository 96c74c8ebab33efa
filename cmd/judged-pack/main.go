// Command judged-pack makes what a release has besides programs and packages:
//
//	judged-pack image FLAGS            an image for containers, as a folder in the layout of OCI
//	judged-pack sbom PROGRAM VERSION   the modules of a program, as a CycloneDX document on stdout
//
// The same input gives the same output.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "judged-pack: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	switch {
	case len(args) == 3 && args[0] == "sbom":
		return writeSBOM(out, args[1], args[2])
	case len(args) > 1 && args[0] == "image":
		var i image
		flags := flag.NewFlagSet("image", flag.ContinueOnError)
		flags.StringVar(&i.root, "root", "", "`TAR` of the root of a distribution")
		flags.StringVar(&i.program, "program", "", "`FILE` that the image runs")
		flags.StringVar(&i.arch, "arch", "", "`NAME` of the architecture, as Go calls it")
		flags.StringVar(&i.version, "version", "", "`VERSION` of the program")
		into := flags.String("into", "", "`DIR` for the image, which must not exist")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		if i.root == "" || i.program == "" || i.arch == "" || i.version == "" || *into == "" || flags.NArg() > 0 {
			return errors.New("image needs each of -root, -program, -arch, -version and -into, and nothing else")
		}
		return i.write(*into)
	}
	return errors.New("want image FLAGS, or sbom PROGRAM VERSION")
}
