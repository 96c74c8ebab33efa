package problem

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"judged/internal/api"
)

// grammarLanguage is the language of input validators that are grammars.
const grammarLanguage = "grammar"

// The endings of the names of grammars: those of checktestdata and of VIVA.
const (
	checktestdataEnding = ".ctd"
	vivaEnding          = ".viva"
)

// grammarPrograms check an input by a grammar of checktestdata, the first one that a host has: that of DOMjudge, and one
// in Python. They read the input from stdin, and exit with 0 if it is valid.
var grammarPrograms = []string{"checktestdata", "pyctd"}

func isGrammar(name string) bool {
	return strings.HasSuffix(name, checktestdataEnding) || strings.HasSuffix(name, vivaEnding)
}

// startGrammar creates a job that checks inputs, with a program in one of the folders, which are separated by colons.
func startGrammar(program Program, j api.Job, folders string) (api.Job, error) {
	if strings.HasSuffix(program.Name, vivaEnding) {
		return j, &ProgramError{program.Name, "is a grammar of VIVA, which judged does not run; " +
			"write the validator as a program"}
	}
	file := path.Base(program.Name)
	for _, name := range grammarPrograms {
		for dir := range strings.SplitSeq(folders, ":") {
			info, err := os.Stat(filepath.Join(dir, name))
			if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				j.Command, j.Files = []string{name, file}, map[string]api.File{file: {Part: program.Files[0].Path}}
				return j, nil
			}
		}
	}
	return j, &ProgramError{program.Name, "is a grammar of checktestdata, and neither checktestdata nor pyctd is in " +
		folders + "; install checktestdata of DOMjudge, or pyctd as root: pip install checktestdata"}
}
