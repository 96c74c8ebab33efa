package problem

import (
	"maps"
	"slices"

	"judged/internal/api"
	"judged/internal/engine/jury"
	"judged/internal/sandbox"
)

// Recipe says how files of tests are made that a package describes and does not have. Each is run after those before it,
// whose files may be its input.
type Recipe struct {
	Test    string // the first test that uses the files
	Command string // in the words of the package
	Run     jury.Work
	// Interactor communicates with the program; it may be nil. With an interactor, its output file for the checker is
	// the only product.
	Interactor *jury.Interactor
	Input      string // path of the program's input; "" is an empty input
	Products   []Product
	// Ready means that Input exists before any recipe runs.
	Ready bool
}

// Product is a file that a recipe generates.
type Product struct {
	Name string // in the working folder of the program; "" is its answer
	Path string // on this host
}

// jury is the program as one that the jury runs, with further files.
func (x started) jury(args []string, more map[string]api.File) jury.Program {
	p := jury.Program{Language: x.language, Args: args}
	first := sandbox.File{Path: x.program.Part}
	if x.language == "" {
		first.Name, first.Exec, p.Command = x.name, true, []string{"./" + x.name}
	}
	p.Files = []sandbox.File{first}
	files := maps.Clone(more)
	if files == nil {
		files = map[string]api.File{}
	}
	maps.Copy(files, x.files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		p.Files = append(p.Files, sandbox.File{Name: name, Path: files[name].Part})
	}
	return p
}
