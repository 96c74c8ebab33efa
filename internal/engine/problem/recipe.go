package problem

import (
	"maps"
	"slices"

	"judged/internal/api"
	"judged/internal/engine/jury"
	"judged/internal/sandbox"
)

// Recipe describes how files of tests that a package lacks are made. Recipes run in order, because earlier ones may
// make the input of later ones.
type Recipe struct {
	Test    string // first test that uses the files
	Command string // command as in the package
	Run     jury.Work
	// Interactor communicates with the program; it may be nil. With an interactor, the only product is its output file
	// for the checker.
	Interactor *jury.Interactor
	Input      string // path of the program's input; "" means empty input
	Products   []Product
	// Ready means that Input exists before any recipe runs.
	Ready bool
}

// HowToAddTests is the next step for a package whose tests cannot be made here, in the words of its format.
func (p *Package) HowToAddTests() string {
	switch p.Format {
	case CMS:
		return "add the missing files to input/ and output/, for example by task-maker"
	case Sinol:
		return "run sinol-make gen before, which adds the missing files to out/"
	}
	return "download the full package from Polygon, which has the tests"
}

// Product is a file that a recipe makes.
type Product struct {
	Name string // name in the working folder of the program; "" is its answer
	Path string // path on this host
}

// jury returns the program as a program of the jury, with additional files.
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
