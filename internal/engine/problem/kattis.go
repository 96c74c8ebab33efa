package problem

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/engine/jury"
)

// kind is the type of a Kattis problem.
type kind struct {
	scoring, interactive, multiPass, custom bool
	scored                                  bool     // the output validator must give points
	flags                                   []string // arguments of the output validator
}

// readKattis reads the formats with a problem.yaml.
func (p *Package) readKattis(t *tree) error {
	s, err := t.mainSettings("problem.yaml")
	if err != nil {
		return err
	}
	if err := p.readVersion(s); err != nil {
		return err
	}
	s.ofOthers(p.Format, otherKeys[p.Format]...)
	k := p.readType(s)
	p.readName(s)
	p.readLimits(s)
	p.readGrading(s)
	if languages := s.someWords("languages"); !slices.Equal(languages, []string{"all"}) {
		for _, code := range languages {
			p.Languages = append(p.Languages, languageID(code))
		}
	}
	if writing := true; s.decode("allow_file_writing", &writing) && !writing {
		p.unsupported("allow_file_writing: false; submissions may write to their working directory")
	}
	all := constants{}
	if p.Format != Legacy {
		all = s.constants()
	}
	s.ignore("uuid", "version", "credits", "source", "source_url", "license", "rights_owner", "embargo_until", "keywords",
		"author", "short-name", "short_name", "externalid", "color", "rgb", "ordinal")
	if err := s.close(p); err != nil {
		return err
	}
	if err := p.readDOMjudge(t); err != nil {
		return err
	}
	if err := all.replaceIn(t, p); err != nil {
		return err
	}
	p.readFolders(t)
	if err := p.readOutputValidator(t, &k); err != nil {
		return err
	}
	if err := p.readGrader(t); err != nil {
		return err
	}
	if err := p.readData(t, k); err != nil {
		return err
	}
	if p.SubmitAnswer {
		if err := p.nameOutputs(k); err != nil {
			return err
		}
	}
	p.findUnused(t, "not used", t.isOfKattis)
	return p.readSubmissions(t)
}

func (p *Package) readVersion(s *settings) error {
	version := "legacy"
	if n, given := s.keys["problem_format_version"]; given && n.Tag == "!!null" {
		return errors.New("read problem.yaml: problem_format_version: has no value; give one, or remove the key for legacy")
	}
	s.decode("problem_format_version", &version)
	switch version {
	case "legacy", "legacy-icpc", "icpc":
		p.Format, p.TimeRule = Legacy, TimeRule{Accepted: 5, Rejected: 2, Resolution: time.Second}
	case "2023-07", "2023-07-draft", "draft":
		p.Format, p.TimeRule = Draft23, TimeRule{Accepted: 2, Rejected: 1.5, Resolution: time.Second}
	case "2025-09", "2025-09-draft":
		p.Format, p.TimeRule = Kattis, TimeRule{Accepted: 2, Rejected: 1.5, Resolution: time.Second}
	default:
		return fmt.Errorf("problem.yaml: unknown problem_format_version %q; use legacy, icpc, 2023-07 or 2025-09", version)
	}
	return nil
}

func (p *Package) readType(s *settings) kind {
	var k kind
	passFail := false
	for _, word := range s.someWords("type") {
		switch word {
		case "pass-fail":
			passFail = true
		case "scoring":
			k.scoring = true
		case "interactive":
			k.interactive = true
		case "multi-pass":
			k.multiPass = true
		case "submit-answer":
			p.SubmitAnswer = p.Format != Legacy
			if !p.SubmitAnswer {
				p.unsupported("type %s", word)
			}
		default:
			s.fail("type", "%q is unknown; use pass-fail, scoring, interactive, multi-pass or submit-answer", word)
		}
	}
	if passFail && k.scoring {
		p.find("problem.yaml: type: pass-fail and scoring exclude each other; judged gives points")
	}
	words := s.someWords("validation")
	for _, word := range words {
		switch word {
		case "default":
		case "custom":
			k.custom = true
		case "score":
			if k.scored = k.scoring; !k.scored {
				p.find("problem.yaml: validation: score has no effect, because problem.yaml does not set type: scoring")
			}
		case "interactive":
			k.interactive = true
		case "multi-pass":
			k.multiPass = true
		default:
			s.fail("validation", "%q is unknown; use default or custom, with score, interactive or multi-pass", word)
		}
	}
	if k.custom && slices.Contains(words, "default") {
		p.find("problem.yaml: validation: default and custom exclude each other; judged uses the output validator")
	}
	if k.scored && !k.custom {
		s.fail("validation", "score needs custom, as the default comparison gives no points; add custom, or remove score")
	}
	k.flags = s.words("validator_flags")
	if k.multiPass {
		p.Limits.Passes = jury.DefaultPasses
	}
	return k
}

// readName uses the English name, or otherwise the first one.
func (p *Package) readName(s *settings) {
	names := map[string]string{}
	if n, ok := s.keys["name"]; ok && n.Value == "" {
		s.decode("name", &names)
	} else {
		s.decode("name", &p.Name)
	}
	for _, name := range names {
		p.Name = name
	}
	if en, ok := names["en"]; ok {
		p.Name = en
	}
}

func (p *Package) readLimits(s *settings) {
	l := s.mapping("limits")
	l.ofOthers(p.Format, otherLimits[p.Format]...)
	l.duration("time_limit", &p.Limits.Time)
	l.duration("time_resolution", &p.TimeRule.Resolution)
	if p.Format != Legacy && p.Limits.Time%p.TimeRule.Resolution != 0 {
		p.find("problem.yaml: limits: time_limit %s is no multiple of time_resolution %s, which the format requires",
			units.Duration(p.Limits.Time), units.Duration(p.TimeRule.Resolution))
	}
	l.factor("time_multiplier", &p.TimeRule.Accepted)
	l.factor("time_safety_margin", &p.TimeRule.Rejected)
	m := l.mapping("time_multipliers")
	m.factor("ac_to_time_limit", &p.TimeRule.Accepted)
	m.factor("time_limit_to_tle", &p.TimeRule.Rejected)
	l.size("memory", 1<<20, &p.Limits.Memory)
	l.size("output", 1<<20, &p.Limits.Output)
	switch n, ok := l.positive("validation_passes"); {
	case n != math.Trunc(n):
		l.fail("validation_passes", "%v is not a whole number", n)
	case ok && p.Limits.Passes == 0:
		p.find("problem.yaml: limits: validation_passes has no effect, because type is not multi-pass")
	case ok:
		p.Limits.Passes = int(n)
	}
	for _, x := range []struct{ key, instead string }{
		{"code", "the platform limits the size of sources"},
		{"compilation_time", "compilers have the limits of their language"},
		{"compilation_memory", "compilers have the limits of their language"},
		{"validation_time", "programs of the jury have the configured limits.jury"},
		{"validation_memory", "programs of the jury have the configured limits.jury"},
		{"validation_output", "programs of the jury have the configured limits.jury"},
	} {
		if _, ok := l.positive(x.key); ok {
			p.unsupported("limits.%s; %s", x.key, x.instead)
		}
	}
	for _, x := range []*settings{m, l} {
		if err := x.close(p); err != nil && s.err == nil {
			s.err = err
		}
	}
}

// The keys of problem.yaml and of its limits that only other versions of the format have.
var (
	otherKeys = map[api.ProblemFormat][]string{
		Legacy:  {"constants", "allow_file_writing"},
		Draft23: {"validation", "validator_flags", "grading"},
		Kattis:  {"validation", "validator_flags", "grading"},
	}
	otherLimits = map[api.ProblemFormat][]string{
		Legacy:  {"time_limit", "time_multipliers", "time_resolution", "validation_passes"},
		Draft23: {"time_multiplier", "time_safety_margin"},
		Kattis:  {"time_multiplier", "time_safety_margin"},
	}
)

// maxLimit bounds limits to values that fit into a duration or a size.
const maxLimit = 1 << 30

// positive decodes a number above 0.
func (s *settings) positive(key string) (float64, bool) {
	var n float64
	if !s.decode(key, &n) {
		return 0, false
	}
	if !(n > 0 && n < maxLimit) {
		s.fail(key, "%v is out of range; use a number above 0", n)
		return 0, false
	}
	return n, true
}

// duration decodes a number of seconds into to. Limits are whole milliseconds, so a shorter time would mean no limit.
func (s *settings) duration(key string, to *time.Duration) {
	switch n, ok := s.positive(key); {
	case ok && seconds(n) < time.Millisecond:
		s.fail(key, "%v seconds are less than a millisecond; use at least 0.001", n)
	case ok:
		*to = seconds(n)
	}
}

// size decodes a number of units into to.
func (s *settings) size(key string, unit units.Bytes, to *units.Bytes) {
	switch n, ok := s.positive(key); {
	case ok && n*float64(unit) < 1:
		s.fail(key, "%v times %s is less than a byte", n, unit)
	case ok:
		*to = units.Bytes(n * float64(unit))
	}
}

// factor decodes a factor between times into to.
func (s *settings) factor(key string, to *float64) {
	switch n, ok := s.positive(key); {
	case ok && n < 1:
		s.fail(key, "%v is less than 1; use at least 1", n)
	case ok:
		*to = n
	}
}

// seconds converts a number of seconds, rounded to nanoseconds.
func seconds(n float64) time.Duration { return time.Duration(math.Round(n * float64(time.Second))) }

func (p *Package) readGrading(s *settings) {
	g := s.mapping("grading")
	objective := "max"
	switch g.decode("objective", &objective); objective {
	case "max":
	default:
		g.fail("objective", "%q is unknown; use max or min", objective)
	case "min":
		p.unsupported("grading.objective %s; more points are better", objective)
	}
	g.ignore("show_test_data_groups")
	if err := g.close(p); err != nil && s.err == nil {
		s.err = err
	}
}

// readFolders reads the folders with programs, and adds findings for folders that judged ignores.
func (p *Package) readFolders(t *tree) {
	for _, folder := range []string{"answer_validators", "input_visualizer", "output_visualizer", "static_validator"} {
		if len(t.under(folder)) > 0 {
			p.unsupported("%s", folder)
		}
	}
	for _, folder := range []string{"input_validators", "input_format_validators"} {
		for _, program := range t.programs(folder) {
			valid := kattisValid
			if isGrammar(program.Name) {
				program.Language, valid = grammarLanguage, grammarValid
			}
			p.Validators = append(p.Validators, Validator{Program: program, OK: valid})
		}
	}
	for _, f := range t.under("include") {
		language, name, inFolder := strings.Cut(f.Name, "/")
		if !inFolder {
			continue
		}
		if language = languageID(language); language == "default" {
			language = ""
		}
		if strings.Contains(name, "/") {
			p.unsupported("files in subfolders of include/, such as %s", f.Name)
			continue
		}
		if isMain(name) && slices.Contains(startedByName, languageByEnding[path.Ext(name)]) {
			p.unsupported("include/%s as the start of a program; submissions start with their own source", f.Name)
		}
		p.Includes[language] = append(p.Includes[language], File{name, f.Path})
	}
}

// readGrader finds the program that grades groups, if the package has one.
func (p *Package) readGrader(t *tree) error {
	programs, err := filterPrograms(p, t.programs("graders"), func(x Program) Program { return x })
	switch {
	case err != nil || len(programs) == 0:
		return err
	case len(programs) > 1:
		return fmt.Errorf("the problem has %d graders; leave one in graders/", len(programs))
	}
	x, err := programs[0].start()
	if err != nil {
		return fmt.Errorf("use grader: %w", err)
	}
	p.Scheme.Grader = &api.Grader{Name: programs[0].Name, Program: x.program, Language: x.language, Files: x.files}
	return nil
}

// wholeFolder is the program of all files in a folder.
func wholeFolder(name string, files []File) Program {
	return Program{Name: name, Files: files, Language: languageOf(files)}
}

// defaultValidator is the kind of the checker that compares like the default output validator.
const defaultValidator = "kattis"

// readOutputValidator finds the program that judges output, if the package has one.
func (p *Package) readOutputValidator(t *tree, k *kind) error {
	var programs []Program
	if files := t.under("output_validator"); len(files) > 0 {
		program := wholeFolder("output_validator", files)
		if inner := t.programs("output_validator"); len(inner) == 1 {
			program = inner[0]
		}
		programs = append(programs, program)
		k.custom = true
		if p.Format == Legacy {
			p.find("output_validator is not a folder of the format legacy, which has output_validators; judged uses it")
		}
	}
	if p.Format != Legacy && len(programs) == 0 && len(t.under("output_validators")) > 0 {
		p.find("output_validators is not a folder of the format %s, which has output_validator; judged uses it", p.Format)
		k.custom = true
	}
	if k.custom || k.interactive || k.multiPass {
		if t.has("output_validators/"+buildScript) || t.has("output_validators/"+runScript) {
			// As in DOMjudge, the scripts are for all files of the folder.
			programs = append(programs, wholeFolder("output_validators", t.under("output_validators")))
		} else {
			programs = append(programs, t.programs("output_validators")...)
		}
	} else if len(t.under("output_validators")) > 0 {
		p.find("output_validators is not used, because problem.yaml does not set validation: custom")
	}
	programs, err := filterPrograms(p, programs, func(x Program) Program { return x })
	switch {
	case err != nil:
		return err
	case !k.custom && !k.interactive && !k.multiPass:
		p.Checker = Checker{Kind: defaultValidator, Args: k.flags}
		return nil
	case len(programs) == 0:
		return fmt.Errorf("the problem has no output validator; add output_validator/")
	case len(programs) > 1:
		p.unsupported("more than one output validator; only %s is used", programs[0].Name)
	}
	c := Checker{Kind: "icpc", Program: &programs[0], Args: k.flags}
	if k.interactive {
		p.Interactor = &c
		return nil
	}
	p.Checker = c
	return nil
}
