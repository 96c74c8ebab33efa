package problem

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"judged/internal/api"
)

// readProgramsOfJury reads the checker, by name or as a program, the validator and the interactor.
func (d *dmojProblem) readProgramsOfJury(s *settings) error {
	checker := yaml.Node{}
	d.p.Checker = Checker{Kind: "dmoj"}
	if s.decode("checker", &checker) {
		c, err := d.checker(checker)
		if err != nil {
			return fmt.Errorf("%s: checker: %w", dmojFile, err)
		}
		d.p.Checker = c
	}
	if validator := (yaml.Node{}); s.decode("validator", &validator) {
		if err := d.readValidator(validator); err != nil {
			return fmt.Errorf("%s: validator: %w", dmojFile, err)
		}
	}
	interactive := yaml.Node{}
	if !s.decode("interactive", &interactive) {
		return s.err
	}
	c, err := d.bridged(interactive, true)
	if err != nil {
		return fmt.Errorf("%s: interactive: %w", dmojFile, err)
	}
	d.p.Interactor, d.p.Checker = &c, Checker{}
	return nil
}

// checker reads the name of a checker, or a mapping with a name and arguments.
func (d *dmojProblem) checker(n yaml.Node) (Checker, error) {
	x := struct {
		Name   string               `yaml:"name"`
		Args   yaml.Node            `yaml:"args"`
		Others map[string]yaml.Node `yaml:",inline"`
	}{}
	if n.Kind == yaml.ScalarNode {
		x.Name = n.Value
	} else if err := n.Decode(&x); err != nil {
		return Checker{}, errors.New(oneLine(err))
	}
	d.findKeys("checker "+x.Name, x.Others)
	if x.Name == "bridged" {
		return d.bridged(x.Args, false)
	}
	args := struct {
		Precision *int   `yaml:"precision"`
		Mode      string `yaml:"error_mode"`
		Split     string `yaml:"split_on"`
		// Others are in no table, except what contestants see.
		Others map[string]yaml.Node `yaml:",inline"`
	}{}
	if x.Args.Kind != 0 {
		if err := x.Args.Decode(&args); err != nil {
			return Checker{}, errors.New(oneLine(err))
		}
	}
	d.findKeys("args of the checker "+x.Name, args.Others, "pe_allowed", "feedback")
	switch x.Name {
	case "standard":
		return Checker{Kind: "dmoj"}, nil
	case "easy", "unordered":
		return Checker{Kind: "dmoj", Args: []string{x.Name}}, nil
	case "sorted":
		flag := map[string]string{"": "sorted", "lines": "sorted", "whitespace": "unordered"}[args.Split]
		if flag == "" {
			return Checker{}, fmt.Errorf("split_on %q; use lines or whitespace", args.Split)
		}
		return Checker{Kind: "dmoj", Args: []string{flag}}, nil
	case "linecount":
		d.p.unsupported("checker linecount for what a submission writes before it fails; it gets no points")
		return Checker{Kind: "dmoj", Args: []string{x.Name}}, nil
	case "linematches":
		return Checker{}, fmt.Errorf("%q gives each line other points, which judged does not; write a program of type coci",
			x.Name)
	case "identical":
		return Checker{Kind: "exact"}, nil
	case "rstripped":
		return Checker{Kind: "lines"}, nil
	case "floats", "floatsabs", "floatsrel":
		flag := map[string]string{"default": "float_tolerance", "absolute": "float_absolute_tolerance",
			"relative": "float_relative_tolerance"}[cmp.Or(dmojFloats[x.Name], args.Mode, "default")]
		precision := 6
		if args.Precision != nil {
			precision = *args.Precision
		}
		if flag == "" || precision < 0 || precision > 99 {
			return Checker{}, fmt.Errorf("error_mode %q with precision %d; use default, absolute or relative, and 0 to 99",
				args.Mode, precision)
		}
		return Checker{Kind: "dmoj", Args: []string{flag, "1e-" + strconv.Itoa(precision)}}, nil
	}
	if d.t.has(x.Name) || path.Ext(x.Name) == ".py" {
		return Checker{}, fmt.Errorf("%q is a module of the judge in Python; write a program with type testlib", x.Name)
	}
	return Checker{}, fmt.Errorf("judged has no %q; use standard, identical, rstripped, easy, sorted, unordered, "+
		"linecount, floats, floatsabs, floatsrel or bridged", x.Name)
}

// dmojFloats are the checkers of numbers whose names say how they compare.
var dmojFloats = map[string]string{"floatsabs": "absolute", "floatsrel": "relative"}

// dmojProgram is a checker, an interactor or a validator that is a program.
type dmojProgram struct {
	Files     yaml.Node            `yaml:"files"`
	Source    yaml.Node            `yaml:"source"` // of a validator
	Type      string               `yaml:"type"`
	Arguments string               `yaml:"args_format_string"`
	Others    map[string]yaml.Node `yaml:",inline"`
}

// program reads one, with its limits, which are those of the configuration here.
func (d *dmojProblem) program(n yaml.Node) (*Program, dmojProgram, error) {
	x := dmojProgram{Type: "default"}
	if err := n.Decode(&x); err != nil {
		return nil, x, errors.New(oneLine(err))
	}
	if x.Files.Kind == 0 {
		x.Files = x.Source
	}
	var names []string
	if x.Files.Kind == yaml.ScalarNode {
		names = []string{x.Files.Value}
	} else if err := x.Files.Decode(&names); err != nil || len(names) == 0 {
		return nil, x, errors.New("files: name the source")
	}
	program := &Program{Name: names[0]}
	for _, name := range names {
		if !d.t.has(name) {
			return nil, x, fmt.Errorf("files: %q is missing", name)
		}
		program.Files = append(program.Files, File{path.Base(name), d.t.use(name)})
	}
	program.Language = languageByEnding[path.Ext(names[0])]
	if lang := cmp.Or(x.Others["lang"].Value, x.Others["language"].Value); lang != "" {
		known := cmp.Or(dmojLanguages[lang], dmojLanguages[strings.TrimRight(lang, "0123456789")])
		if known == "" {
			d.p.unsupported("language %s of %s; the extension gives its language", lang, names[0])
		}
		program.Language = cmp.Or(known, program.Language)
	}
	if flags, ok := x.Others["flags"]; ok && len(flags.Content) > 0 {
		d.p.unsupported("flags of %s; it is compiled without them", names[0])
	}
	d.findKeys("settings of "+names[0], x.Others, "flags", "lang", "time_limit", "memory_limit", "compiler_time_limit",
		"preprocessing_time", "cached", "feedback", "unbuffered", "language", "read_feedback_from")
	return program, x, nil
}

// dmojLanguages are the languages of programs of the jury by their names in DMOJ, with or without a version.
var dmojLanguages = map[string]string{"C": "c", "CLANG": "c", "CPP": "cpp", "CLANGX": "cpp", "JAVA": "java", "RUST": "rust",
	"GO": "go", "PAS": "pascal", "PY2": "python2", "PYPY": "python2", "PY3": "python", "PYPY3": "python"}

// findKeys names those of a mapping that are not known.
func (d *dmojProblem) findKeys(where string, keys map[string]yaml.Node, known ...string) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(known, key) {
			d.p.find("unknown key %q in the %s", key, where)
		}
	}
}

// bridged reads a checker or an interactor. Their exit status is that of testlib, or a part of it.
func (d *dmojProblem) bridged(n yaml.Node, interactor bool) (Checker, error) {
	program, x, err := d.program(n)
	if err != nil {
		return Checker{}, err
	}
	if !slices.Contains([]string{"default", "testlib", "coci"}, x.Type) {
		return Checker{}, fmt.Errorf("type %q; use default, testlib or coci", x.Type)
	}
	c := Checker{Kind: string(api.Testlib), Program: program}
	switch {
	case strings.ContainsAny(x.Arguments, `'\`):
		return Checker{}, fmt.Errorf("args_format_string %q; use double quotes alone", x.Arguments)
	case x.Arguments != "":
		names := strings.NewReplacer("{input_file}", "{input}", "{output_file}", "{output}", "{answer_file}", "{answer}")
		c.Args = fields(names.Replace(x.Arguments))
	case x.Type != "testlib" && interactor:
		c.Args = []string{"{input}", "{answer}"}
	case x.Type == "coci":
		c.Args = []string{"{input}", "{output}", "{answer}"}
	}
	if c.Args != nil {
		c.Kind = string(api.Bridged)
	}
	return c, nil
}

// readValidator reads the validator of inputs, which gets the numbers of the batch and of the case.
func (d *dmojProblem) readValidator(n yaml.Node) error {
	program, x, err := d.program(n)
	if err != nil {
		return err
	}
	formats := map[string]string{"default": "{batch_no} {case_no}", "testlib": "--group st{batch_no}"}
	if d.validatorArgs = fields(cmp.Or(x.Arguments, formats[x.Type])); d.validatorArgs == nil {
		return fmt.Errorf("type %q; use default or testlib, or args_format_string", x.Type)
	}
	d.p.Validators = append(d.p.Validators, Validator{Program: *program, OK: testlibValid})
	return nil
}

// argsOf are the arguments of the validator for a case: cases without a batch have batch 0, and cases are counted from 0.
func (d *dmojProblem) argsOf(batch, number int) (args []string) {
	numbers := strings.NewReplacer("{batch_no}", strconv.Itoa(batch), "{case_no}", strconv.Itoa(number))
	for _, a := range d.validatorArgs {
		args = append(args, numbers.Replace(a))
	}
	return args
}
