package problem

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/units"
)

// maxProblemXML is the maximum size of problem.xml, which has an element for each test.
const maxProblemXML = units.Bytes(16 << 20)

// polygonXML holds the settings of problem.xml that affect judging. Package xml expands only the five predefined
// entities.
type polygonXML struct {
	Names []struct {
		Language string `xml:"language,attr"`
		Value    string `xml:"value,attr"`
	} `xml:"names>name"`
	Judging struct {
		Input    string           `xml:"input-file,attr"`
		Output   string           `xml:"output-file,attr"`
		RunCount int              `xml:"run-count,attr"`
		Percent  string           `xml:"treat-points-from-checker-as-percent,attr"`
		Sets     []polygonTestset `xml:"testset"`
	} `xml:"judging"`
	Properties  []polygonNamed    `xml:"properties>property"`
	Resources   []polygonResource `xml:"files>resources>file"`
	Executables []polygonProgram  `xml:"files>executables>executable"`
	Checker     *polygonProgram   `xml:"assets>checker"`
	Interactor  *polygonProgram   `xml:"assets>interactor"`
	Validators  []polygonProgram  `xml:"assets>validators>validator"`
	Solutions   []struct {
		polygonProgram
		Tag    string `xml:"tag,attr"`
		Extras []struct {
			Tag string `xml:"tag,attr"`
		} `xml:"extra-tags>extra-tag"`
	} `xml:"assets>solutions>solution"`
}

// polygonResource is a file for the programs that its assets name, or for none.
type polygonResource struct {
	Path   string         `xml:"path,attr"`
	Types  string         `xml:"for-types,attr"` // of sources that are compiled with it, such as cpp.*;java.*
	Stages []polygonNamed `xml:"stages>stage"`
	Assets []polygonNamed `xml:"assets>asset"`
}

type polygonNamed struct {
	Name string `xml:"name,attr"`
}

type polygonProgram struct {
	Source struct {
		Path string `xml:"path,attr"`
		Type string `xml:"type,attr"`
	} `xml:"source"`
	Type  string         `xml:"type,attr"` // of a checker
	Tests polygonTestset `xml:"testset"`   // of the program itself, a checker or a validator
}

type polygonTestset struct {
	Name    string         `xml:"name,attr"`
	TimeMS  int64          `xml:"time-limit"`
	Memory  int64          `xml:"memory-limit"`
	Count   int            `xml:"test-count"`
	Inputs  string         `xml:"input-path-pattern"`
	Outputs string         `xml:"output-path-pattern"` // of a checker
	Answers string         `xml:"answer-path-pattern"`
	Tests   []polygonTest  `xml:"tests>test"`
	Groups  []polygonGroup `xml:"groups>group"`
}

type polygonTest struct {
	Group    string   `xml:"group,attr"`
	Points   *float64 `xml:"points,attr"`
	Command  string   `xml:"cmd,attr"`
	FromFile string   `xml:"from-file,attr"` // one of the files that the command writes; "" is stdout
	Testset  string   `xml:"testset,attr"`   // of a test of a validator
	Verdict  string   `xml:"verdict,attr"`   // of a test of a program of the jury
}

type polygonGroup struct {
	Name         string   `xml:"name,attr"`
	Policy       string   `xml:"points-policy,attr"`
	Points       *float64 `xml:"points,attr"`
	Dependencies []struct {
		Group string `xml:"group,attr"`
	} `xml:"dependencies>dependency"`
}

// polygonElements are the elements that problem.xml may contain, with their attributes. Others are findings. + means that
// an element may be repeated. * means that nothing in an element affects judging, even if Polygon adds to it.
var polygonElements = map[string]string{
	"problem":            "revision short-name url",
	"problem/names":      "",
	"problem/names/name": "+ *",
	"problem/statements": "*", "problem/tutorials": "*", "problem/documents": "*", "problem/materials": "*",
	"problem/stresses": "*", "problem/tags": "*",
	"problem/properties":          "",
	"problem/properties/property": "+ name value",

	"problem/judging": "cpu-name cpu-speed input-file output-file run-count treat-points-from-checker-as-percent",

	"problem/judging/testset":                     "+ name",
	"problem/judging/testset/time-limit":          "",
	"problem/judging/testset/memory-limit":        "",
	"problem/judging/testset/test-count":          "",
	"problem/judging/testset/input-path-pattern":  "",
	"problem/judging/testset/answer-path-pattern": "",
	"problem/judging/testset/tests":               "",
	"problem/judging/testset/tests/test":          "+ cmd description from-file group method points sample",

	"problem/judging/testset/groups":                               "",
	"problem/judging/testset/groups/group":                         "+ feedback-policy name points points-policy",
	"problem/judging/testset/groups/group/dependencies":            "",
	"problem/judging/testset/groups/group/dependencies/dependency": "+ group",

	"problem/files":                             "",
	"problem/files/attachments":                 "*",
	"problem/files/resources":                   "",
	"problem/files/resources/file":              "+ for-types path type",
	"problem/files/resources/file/stages":       "",
	"problem/files/resources/file/stages/stage": "+ name",
	"problem/files/resources/file/assets":       "",
	"problem/files/resources/file/assets/asset": "+ name",
	"problem/files/executables":                 "",
	"problem/files/executables/executable":      "+",

	"problem/assets":                                     "",
	"problem/assets/checker":                             "name type",
	"problem/assets/checker/copy":                        "*",
	"problem/assets/checker/testset":                     "",
	"problem/assets/checker/testset/test-count":          "",
	"problem/assets/checker/testset/input-path-pattern":  "",
	"problem/assets/checker/testset/output-path-pattern": "",
	"problem/assets/checker/testset/answer-path-pattern": "",
	"problem/assets/checker/testset/tests":               "",
	"problem/assets/checker/testset/tests/test":          "+ verdict",

	"problem/assets/interactor":      "",
	"problem/assets/interactor/runs": "*", // of a problem with run-count 2

	"problem/assets/validators":                                      "",
	"problem/assets/validators/validator":                            "+",
	"problem/assets/validators/validator/testset":                    "",
	"problem/assets/validators/validator/testset/test-count":         "",
	"problem/assets/validators/validator/testset/input-path-pattern": "",
	"problem/assets/validators/validator/testset/tests":              "",
	"problem/assets/validators/validator/testset/tests/test":         "+ group testset verdict",

	"problem/assets/solutions":                               "",
	"problem/assets/solutions/solution":                      "+ note tag",
	"problem/assets/solutions/solution/extra-tags":           "",
	"problem/assets/solutions/solution/extra-tags/extra-tag": "+ group tag testset",
}

// polygonPrograms are the elements with a program: its source, and a binary, which judged does not use.
var polygonPrograms = []string{"problem/files/executables/executable", "problem/assets/checker",
	"problem/assets/interactor", "problem/assets/validators/validator", "problem/assets/solutions/solution"}

// parsePolygon reads problem.xml. It also returns the paths that problem.xml names, also those of files that do not affect
// judging.
func (p *Package) parsePolygon(t *tree) (x polygonXML, named map[string]bool, err error) {
	b, err := t.content("problem.xml", maxProblemXML)
	if err != nil {
		return x, nil, err
	}
	e := &elements{Decoder: xml.NewDecoder(untilDone{t.ctx, bytes.NewReader(b)}), find: p.find, named: map[string]bool{}}
	if err := xml.NewTokenDecoder(e).Decode(&x); err != nil {
		return x, nil, fmt.Errorf("parse problem.xml: %w", e.at(err))
	}
	return x, e.named, nil
}

// maxElements is the maximum number of tokens in problem.xml. They take more memory than their text.
const maxElements = 1_000_000

// elements returns the tokens of problem.xml up to the maximum number. It adds findings for unknown elements and
// attributes.
type elements struct {
	*xml.Decoder
	n     int
	find  finder
	named map[string]bool // values of the attribute path
	open  []element       // outermost first
	// last is the element that begins or ends with the last token, with its attributes if it begins.
	last       string
	attributes []xml.Attr
}

// element is an element whose end is not read yet. Everything in it is known if it has no path.
type element struct {
	path string
	seen map[string]bool // elements in it that may not be repeated
}

// Token implements xml.TokenReader.
func (e *elements) Token() (xml.Token, error) {
	if e.n++; e.n > maxElements {
		return nil, errors.New("too many elements; use at most a million")
	}
	token, err := e.Decoder.RawToken()
	switch x := token.(type) {
	case xml.StartElement:
		if err := e.start(x); err != nil {
			return nil, err
		}
	case xml.EndElement:
		if n := len(e.open); n > 0 {
			e.last, e.attributes, e.open = e.open[n-1].path, nil, e.open[:n-1]
		}
	}
	return token, err
}

// at says where a value is that is not the expected number, and corrects the line of a syntax error. Package xml decodes a
// value before it asks for the next token, and counts no lines in tokens.
func (e *elements) at(err error) error {
	line, _ := e.InputPos()
	if syntax := new(xml.SyntaxError); errors.As(err, &syntax) {
		syntax.Line = line
	}
	wrong := new(strconv.NumError)
	if !errors.As(err, &wrong) {
		return err
	}
	what, kind := "element "+e.last, "a number"
	for _, a := range e.attributes {
		if strings.TrimSpace(a.Value) == wrong.Num {
			what = "attribute " + a.Name.Local + " of " + e.last
		}
	}
	if wrong.Func != "ParseFloat" {
		kind = "a whole number"
	}
	if errors.Is(err, strconv.ErrRange) {
		kind += " in range"
	}
	return fmt.Errorf("line %d: %s: %q is not %s", line, what, wrong.Num, kind)
}

func (e *elements) start(x xml.StartElement) error {
	for _, a := range x.Attr {
		if a.Name.Local == "path" {
			e.named[path.Clean(a.Value)] = true
		}
	}
	above, name := element{}, x.Name.Local
	if len(e.open) > 0 {
		if above = e.open[len(e.open)-1]; above.path == "" {
			e.open = append(e.open, element{})
			return nil
		}
		name = above.path + "/" + name
	}
	attributes, known := polygonElements[name]
	if !known && slices.Contains([]string{"source", "binary"}, x.Name.Local) {
		attributes, known = "path type", slices.Contains(polygonPrograms, above.path)
	}
	e.last, e.attributes = name, x.Attr
	words := strings.Fields(attributes)
	switch {
	case above.seen[name]:
		line, _ := e.InputPos()
		return fmt.Errorf("line %d: element %s occurs twice; leave one", line, name)
	case !known:
		e.find("problem.xml: element %s is not used", name)
		words = []string{"*"}
	case above.seen != nil && !slices.Contains(words, "+"):
		above.seen[name] = true
	}
	if slices.Contains(words, "*") {
		name = ""
	}
	for _, a := range x.Attr {
		if name != "" && !slices.Contains(words, a.Name.Local) {
			e.find("problem.xml: attribute %q of %s is not used", a.Name.Local, name)
		}
	}
	e.open = append(e.open, element{name, map[string]bool{}})
	return nil
}
